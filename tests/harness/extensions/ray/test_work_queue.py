"""Shards of a cell's queries, as workers ask for them."""

from harness.extensions.ray.worker_pool import WorkQueue
from harness.runner.executing.messages import QueryTask


def todo(n: int) -> list[QueryTask]:
    return [QueryTask(query_id=str(number), repeat=0, attempt=1) for number in range(n)]


def taken(queue: WorkQueue) -> list[list[str]]:
    shards = iter(queue.take, [])
    return [[one.query_id for one in shard] for shard in shards]


def test_every_query_is_taken_once_in_order_and_shards_shrink_towards_the_end() -> None:
    shards = taken(WorkQueue(todo(100), n_workers=4, at_once=2))
    assert [query_id for shard in shards for query_id in shard] == [str(number) for number in range(100)]
    sizes = [len(shard) for shard in shards]
    assert sizes == sorted(sizes, reverse=True)
    assert (sizes[0], sizes[-2]) == (12, 2)


def test_no_shard_is_smaller_than_what_a_worker_answers_side_by_side_but_the_last() -> None:
    assert [len(shard) for shard in taken(WorkQueue(todo(7), n_workers=8, at_once=3))] == [3, 3, 1]


def test_what_is_given_back_is_taken_next_in_its_order() -> None:
    queue = WorkQueue(todo(6), n_workers=1, at_once=2)
    first = queue.take()
    queue.give_back(first[1:])
    assert taken(queue)[0][0] == first[1].query_id


def test_a_query_is_suspected_when_a_third_machine_is_lost_with_it() -> None:
    queue, (victim, other, *_) = WorkQueue(todo(3), n_workers=1, at_once=1), todo(3)
    assert queue.suspects([victim, other]) == []
    assert queue.suspects([victim]) == []
    assert queue.suspects([victim, other]) == [victim]


def test_a_closed_board_gives_nothing() -> None:
    queue = WorkQueue(todo(3), n_workers=1, at_once=1)
    queue.close()
    assert queue.take() == []
