"""A car in float64, one wheel at a time: a slow twin of the car that the game moves."""

from dataclasses import dataclass, field

import numpy as np

DT = 0.02
MASS, INERTIA, CENTER = 7.30192, 19.1706482, np.array([0.0, -0.08045898])  # of hull and wheels
HULL_INERTIA = 18.2122788
WHEEL_INERTIA, WHEEL_MASS = 0.0074592, 0.06048
PLACES = np.array([(-1.1, 1.6), (1.1, 1.6), (-1.1, -1.64), (1.1, -1.64)])
ORBIT = sum(WHEEL_MASS * float((place - CENTER) @ (place - CENTER)) for place in PLACES)


def turned(angle, point):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * point[0] - s * point[1], s * point[0] + c * point[1]])


@dataclass
class Car:
    """The same numbers as the game's car."""

    position: np.ndarray
    heading: float
    heading_before: float
    velocity: np.ndarray = field(default_factory=lambda: np.zeros(2))
    spin: float = 0.0
    steer: np.ndarray = field(default_factory=lambda: np.zeros(4))
    steer_rate: np.ndarray = field(default_factory=lambda: np.zeros(4))
    omega: np.ndarray = field(default_factory=lambda: np.zeros(4))
    gas: float = 0.0
    phase: np.ndarray = field(default_factory=lambda: np.zeros(4))
    windup: np.ndarray = field(default_factory=lambda: np.zeros(4))


def start(position, angle):
    return Car(np.asarray(position, float) + turned(angle, CENTER), float(angle), float(angle))


def origin(car):
    return car.position - turned(car.heading, CENTER)


def roll(car, wheel, brake):
    """Engine, then brake."""
    gas = car.gas if wheel >= 2 else 0.0
    omega = car.omega[wheel] + DT * 40000 * gas / 1.6 / (abs(car.omega[wheel]) + 5)
    if brake >= 0.9:
        return 0.0
    return omega - np.sign(omega) * min(15 * max(brake, 0.0), abs(omega))


def tire(car, wheel, on_road):
    """The force on one wheel; the wheel rolls slower by its reaction."""
    angle = car.heading + car.steer[wheel]
    side, ahead = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    arm = turned(car.heading_before, PLACES[wheel] - CENTER)
    velocity = car.velocity + car.spin * np.array([-arm[1], arm[0]])
    along, across = 82 * (0.54 * car.omega[wheel] - ahead @ velocity), -82 * (side @ velocity)
    size, limit = np.hypot(along, across), 400.0 if on_road else 240.0
    if size > limit:
        along, across = along * limit / size, across * limit / size
    car.omega[wheel] -= DT * along * 0.54 / 1.6
    return along * ahead + across * side


def steer(car, wheel, target):
    """The joint's rate; a motor that has wound up against the limit holds the wheel there."""
    speed = np.clip(50 * (target - car.steer[wheel]), -3, 3)
    if abs(car.steer[wheel]) >= 0.4:
        gain = 180 / (1 / WHEEL_INERTIA + 1 / HULL_INERTIA) * speed * np.sign(car.steer[wheel])
        car.windup[wheel] = min(car.windup[wheel] + gain, 1.296)
        if car.windup[wheel] >= 0:
            return 0.0
    car.windup[wheel] = 0.0
    return speed


def step(car, action, on_road):
    """One frame, in place."""
    car.gas += min(np.clip(action[1], 0, 1) - car.gas, 0.1)
    force, torque, rates = np.zeros(2), 0.0, np.zeros(4)
    for wheel in range(4):
        car.omega[wheel] = roll(car, wheel, action[2])
        car.phase[wheel] += DT * car.omega[wheel]
        push, arm = tire(car, wheel, on_road[wheel]), turned(car.heading, PLACES[wheel] - CENTER)
        force, torque = force + push, torque + arm[0] * push[1] - arm[1] * push[0]
        rates[wheel] = steer(car, wheel, -action[0] if wheel < 2 else 0.0)
    lost = ORBIT * (1 - np.cos(car.heading - car.heading_before)) * car.spin
    car.velocity = car.velocity + DT * force / MASS
    car.spin += (DT * torque - WHEEL_INERTIA * (rates - car.steer_rate).sum() - lost) / INERTIA
    car.steer_rate, car.heading_before = rates, car.heading
    advance(car)


def advance(car):
    """From velocities to a pose, within Box2D's limits of what a frame may move."""
    car.velocity = car.velocity * min(1.0, 100 / max(np.hypot(*car.velocity), 1e-9))
    car.spin = float(np.clip(car.spin, -25 * np.pi, 25 * np.pi))
    back = -ORBIT / (HULL_INERTIA + ORBIT) * (DT * car.spin) ** 3 / 3
    car.position = car.position + DT * car.velocity
    car.heading += DT * car.spin + back
    for wheel in range(4):
        angle = car.steer[wheel]
        turned_to = angle + DT * car.steer_rate[wheel] - back
        if abs(angle) >= 0.4:
            turned_to = np.sign(angle) * min(np.sign(angle) * turned_to, 0.4 + np.pi / 90)
        car.steer[wheel] = turned_to
