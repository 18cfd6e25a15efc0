"""Line search for the strong Wolfe conditions (Nocedal and Wright, algorithms 3.5 and 3.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..tensor import Tensor

DECREASE = 1e-4  # c1: enough of the decrease that the slope promises
CURVATURE = 0.9  # c2: the slope has become this much flatter
MOST_EVALUATIONS = 25
SMALLEST_BRACKET = 1e-9


class Point(NamedTuple):
    """Loss, gradient and slope at a distance along the direction."""

    at: Any
    loss: float
    grad: Tensor
    slope: Any


def cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points with their slopes is smallest, kept within `bounds`."""
    low, high = bounds if bounds is not None else ((a.at, b.at) if a.at <= b.at else (b.at, a.at))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.at - b.at)
    square = d1**2 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2.0
    d2 = square**0.5
    left, right = (a, b) if a.at <= b.at else (b, a)
    place = right.at - (right.at - left.at) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2))
    return min(max(place, low), high)


def strong_wolfe(
    evaluate: Callable[[Any], tuple[float, Tensor]],
    length: Any,
    direction: Tensor,
    loss: float,
    grad: Tensor,
    slope: Any,
) -> tuple[float, Tensor, Any, int]:
    """A step length that satisfies both conditions, with its loss, gradient and the evaluations it took."""
    search = _Search(evaluate, direction, Point(0, loss, grad.clone(), slope))
    points, found = search.bracket(length)
    best = points[0] if found else search.zoom(points)
    return best.loss, best.grad, best.at, search.evaluations


class _Search:
    def __init__(
        self, evaluate: Callable[[Any], tuple[float, Tensor]], direction: Tensor, start: Point
    ) -> None:
        self.evaluate = evaluate
        self.direction = direction
        self.start = start
        self.size = direction.abs().max()
        self.evaluations = 0
        self.rounds = 0

    def point(self, at: Any) -> Point:
        loss, grad = self.evaluate(at)
        self.evaluations += 1
        return Point(at, loss, grad.clone(), grad.dot(self.direction))

    def too_high(self, point: Point) -> bool:
        return bool(point.loss > self.start.loss + DECREASE * point.at * self.start.slope)

    def flat(self, point: Point) -> bool:
        return bool(abs(point.slope) <= -CURVATURE * self.start.slope)

    def bracket(self, length: Any) -> tuple[list[Point], bool]:
        """Go on until two points enclose a solution, or one is a solution."""
        previous, current = self.start, self.point(length)
        while self.rounds < MOST_EVALUATIONS:
            if self.too_high(current) or (self.rounds > 1 and current.loss >= previous.loss):
                return [previous, current], False
            if self.flat(current):
                return [current], True
            if current.slope >= 0:
                return [previous, current], False
            shortest = current.at + 0.01 * (current.at - previous.at)
            farthest = current.at * 10
            at = cubic_minimum(previous, current, (shortest, farthest))
            previous, current = current, self.point(at)
            self.rounds += 1
        return [self.start, current], False

    def zoom(self, points: list[Point]) -> Point:
        """Shrink the bracket until its better end is a solution, or it is too small to matter."""
        low, high = sorted(points, key=lambda point: point.loss)
        stalled = False
        while self.rounds < MOST_EVALUATIONS:
            if abs(high.at - low.at) * self.size < SMALLEST_BRACKET:
                break
            at, stalled = self._inside(low, high, stalled)
            new = self.point(at)
            self.rounds += 1
            if self.too_high(new) or new.loss >= low.loss:
                high = new
                if high.loss < low.loss:
                    low, high = high, low
            else:
                if self.flat(new):
                    return new
                if new.slope * (high.at - low.at) >= 0:
                    high = low
                low = new
        return low

    @staticmethod
    def _inside(low: Point, high: Point, stalled: bool) -> tuple[Any, bool]:
        """The next place to look; pushed a tenth inwards if it lies near an end twice, or on it."""
        near, far = min(low.at, high.at), max(low.at, high.at)
        at = cubic_minimum(low, high)
        margin = 0.1 * (far - near)
        if min(far - at, at - near) >= margin:
            return at, False
        if stalled or at >= far or at <= near:
            at = far - margin if abs(at - far) < abs(at - near) else near + margin
            return at, False
        return at, True
