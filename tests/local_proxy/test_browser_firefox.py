"""The export driver in a real Firefox: the tests of Chromium, in which pixels and silence count."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from bench.browsers.bidi import EXECUTABLE, launched
from tests.local_proxy import test_browser_channels as channels
from tests.local_proxy import test_browser_chromium as shared

pytestmark = pytest.mark.skipif(EXECUTABLE is None, reason="no firefox on this machine")


@pytest.fixture(scope="module")
def run() -> Iterator[shared.Run]:
    yield from shared.running(launched)


@pytest.mark.parametrize(
    "test",
    [
        shared.test_twenty_pictures_refine_unnoticed,
        shared.test_sketches_have_the_final_layout_and_become_the_final_pixels,
        shared.test_a_coarser_level_that_comes_late_does_not_take_a_finer_one_s_place,
        shared.test_pictures_that_are_final_already_need_nothing,
        shared.test_a_meta_policy_that_shuts_the_channel_means_streams,
        shared.test_however_a_picture_is_written,
        shared.test_base_addresses,
        shared.test_a_page_that_overrides_everything,
        shared.test_pictures_moved_replaced_and_inserted_later,
        channels.test_the_pages_own_pictures_have_all_connections,
        channels.test_a_picture_that_does_not_come_does_not_keep_the_others_coarse,
        channels.test_frames_of_one_host_do_not_starve_each_other,
        channels.test_a_page_with_nothing_to_come_holds_no_channel,
        shared.test_a_component_that_fails_is_fetched_again,
        shared.test_backgrounds_are_streamed,
    ],
)
def test_as_in_chromium(run: shared.Run, test: Callable[[shared.Run], None]) -> None:
    test(run)


def test_back_shows_final_pixels(run: shared.Run) -> None:
    """A page was left while pictures were coarse, which Firefox does not keep."""
    shared.test_back_shows_final_pixels(run, keeps_open_channels=False)


@pytest.mark.parametrize("policy", shared.POLICIES)
def test_under_a_content_security_policy(run: shared.Run, policy: str) -> None:
    shared.test_under_a_content_security_policy(run, policy)
