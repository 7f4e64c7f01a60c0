"""The cases from the field: what people reported of other tools, and the tests that try it here.

(a) the data set of skin lesions, (b) uploads, (c) the arithmetic of calibration and deferral, (d) training, (e) pages.
Below each symptom: the files in which `tried` marks its tests, and tests of other files of tests/core by name.
"""

import re

import pytest

MARKED = {
    "core": "core/test_field_cases.py",
    "pages": "app/test_field_cases_pages.py",
    "systems": "app/test_field_cases_systems.py",
}
TABLE = """
A1 one lesion on both sides
    systems
    datasets/test_ham10000_split.py: no_lesion_is_on_two_sides
    datasets/test_ham10000_split.py: by_image_says_how_many_lesions_are_on_both_sides
    datasets/test_ham10000_split.py: without_lesions_the_split_is_by_image_and_says_so
A3 blank ages and sites are filled in silently
    pages
    datasets/test_ham10000_metadata.py: ages_follow_one_rule
    datasets/test_ham10000_metadata.py: absent_columns_are_unknown_and_named
    datasets/test_ham10000_features.py: features_stay_finite_whatever_age_was_written
A4 an unseen site becomes a vector of zeros
    pages
    datasets/test_ham10000_metadata.py: a_site_that_the_data_set_lacks_is_unknown_and_noted
    datasets/test_ham10000_features.py: features_are_hand_computed
A6 the right class under a wrong name
    datasets/test_ham10000.py: the_order_of_the_rows_changes_no_label_and_no_lesion
    comparison/test_estimates.py: systems_that_cannot_be_compared_are_refused_by_name
    models/test_weights.py: a_network_comes_back_bit_for_bit_with_what_it_is
A7 other spellings of the seven diagnoses
    datasets/test_ham10000_metadata.py: other_names_of_a_class_are_read
    datasets/test_ham10000_metadata.py: unknown_diagnoses_are_listed_with_their_counts
A9 rows of one image twice
    datasets/test_ham10000_metadata.py: rows_that_say_the_same_again_are_counted_and_left_out
    datasets/test_ham10000_metadata.py: rows_of_one_image_that_differ_are_named
A10 copies of an image are in training and test
    training/test_loop.py: training_images_are_moved_and_validation_images_are_not
A11 how a diagnosis was confirmed leaks the answer
    pages
    datasets/test_ham10000_features.py: nothing_but_age_sex_and_site_is_an_input_by_default
    datasets/test_ham10000_features.py: the_authors_inputs_add_the_confirmation_and_are_warned_of
A12 balanced accuracy with a class that has no cases
    core systems
    evaluation/test_by_class.py: every_class_counts_the_same_and_one_without_cases_is_named_and_left_out
A13 DermaMNIST is a leaky split
    datasets/test_ham10000.py: dermamnist_is_not_read_and_called_leaky
A14 a download cut short is a bare BadZipFile
    core
    datasets/test_ham10000.py: a_truncated_zip_is_an_incomplete_download
A15 image folders twice in different case
    datasets/test_ham10000.py: doubled_folders_in_another_case_give_each_image_once
A16 blank or tiny pictures get confident labels
    pages
    images/test_opening.py: what_is_odd_is_warned_of_and_the_image_still_opens
A17 hidden crops change what the model sees
    pages
    models/test_model_size.py: another_aspect_gets_bars_and_is_neither_cropped_nor_distorted
B1 CMYK has four channels or inverted colours
    pages
    images/test_opening.py: cmyk_is_turned_into_rgb_and_is_not_inverted
B2 one, two or four channels break the network
    images/test_opening.py: every_8_bit_mode_of_a_png_ends_as_rgb_with_a_note
    images/test_opening.py: of_16_bits_the_upper_8_are_kept
B4 transparent pixels turn black or show what they hid
    core
    images/test_opening.py: transparent_pixels_become_white_and_never_show_what_they_hide
B6 HEIC from a phone is a stack trace
    images/test_refusals.py: what_is_no_accepted_image_is_named_with_advice
B8 an empty file or a web page called .jpg
    images/test_refusals.py: what_is_no_accepted_image_is_named_with_advice
B10 the filter looks at the name alone
    images/test_opening.py: the_content_decides_and_another_ending_is_only_noted
    images/test_refusals.py: what_is_no_accepted_image_is_named_with_advice
B11 a thousand files hang, failed ones are not told
    pages
    images/test_archives.py: eleven_hundred_images_all_come
    images/test_archives.py: what_is_no_image_is_a_named_problem_and_the_rest_still_comes
B12 the limit of the server is another than the one shown
    pages
B14 names beyond ASCII are lost
    pages
    images/test_opening.py: a_name_is_made_safe_to_show
    images/test_opening.py: a_long_name_keeps_its_beginning_and_its_ending
B15 a click processes all files anew, equal names collide
    pages
B16 several pictures in a file, 16 bits and floats
    images/test_opening.py: of_several_pictures_the_first_is_taken_with_a_note
    images/test_opening.py: of_16_bits_the_upper_8_are_kept
    images/test_opening.py: floats_from_0_to_1_are_scaled_by_255
B17 Excel's CSV lacks its columns
    datasets/test_ham10000_metadata.py: every_layout_gives_the_same_row
    datasets/test_ham10000_metadata.py: a_missing_column_is_named_with_its_other_names
B18 ids and file names differ by case, copy or ending
    pages
    datasets/test_ham10000_metadata.py: copies_of_a_file_have_one_key
    datasets/test_ham10000_metadata.py: other_stems_have_other_keys
B19 uploaded bytes stay in memory
    pages
C2 an empty bin is 0 / 0
    calibration/test_binned.py: empty_bins_stay_empty_and_weigh_nothing
    evaluation/test_accuracy.py: with_all_or_none_deferred_the_empty_side_has_no_value_and_no_nan
C3 bins of equal mass collapse to an error of 0
    calibration/test_binned.py: equal_scores_that_are_all_wrong_show_their_whole_gap
    calibration/test_binned.py: equal_mass_never_splits_equal_values_and_merges_edges_that_coincide
C4 a class is missing from the set
    core systems
C6 the logistic loss overflows or changes its input
    surrogates/test_extremes.py: losses_and_gradients_in_float32_are_finite_and_right_at_any_size
    surrogates/test_contract.py: the_inputs_are_left_as_they_were
C7 a probability of 1 that is wrong, rows that do not sum to 1
    core
    comparison/test_mapped_tables.py: probabilities_of_0_and_1_have_finite_logits
C9 calibration errors that disagree
    core systems
    calibration/test_binned.py: a_table_computed_by_hand
    calibration/test_binned.py: zero_and_one_both_count
C10 a temperature at or below zero
    core systems
    evaluation/test_recalibration.py: a_temperature_divides_all_logits_and_so_changes_no_argmax
C11 logits taken for probabilities
    core systems
    calibration/test_binned.py: bad_input_is_refused_by_argument_rule_and_row
    calibration/test_binned.py: scores_of_one_only_are_read_as_the_share_that_is_wrong
C12 one class only in what a correction is fitted to
    core systems
    evaluation/test_recalibration.py: an_expert_who_is_always_right_or_always_wrong_can_be_fitted
D1 checkpoints that need a full unpickling
    training/test_checkpoints.py: a_checkpoint_holds_tensors_and_plain_values_only
    training/test_checkpoints.py: a_pickle_in_place_of_a_checkpoint_is_not_run
D2 a checkpoint of a GPU on a CPU
    core
D4 the best weights are those of the last epoch
    training/test_ends.py: the_best_weights_come_back_at_the_end
    training/test_ends.py: the_best_weights_come_back_when_training_is_broken_off
D5 resuming restores the weights alone
    training/test_resuming.py: stopping_after_any_epoch_and_going_on_gives_the_same_bits
D6 loaders that cannot be pickled hang
    core
D7 the same seed, another result
    training/test_loop.py: the_same_seed_gives_the_same_bits_and_another_seed_others
    training/test_loop.py: each_purpose_has_random_numbers_of_its_own
D8 half precision makes a logarithm of 0
    surrogates/test_extremes.py: half_precision_logits_are_lifted_to_float32_also_under_autocast
    training/test_ends.py: a_loss_that_is_not_finite_stops_with_the_step_the_batch_and_advice
D9 float64 where a device has none
    training/test_loop.py: inputs_that_are_no_images_can_be_trained_on
D10 a compiled model's names have a prefix
    core
    training/test_checkpoints.py: weights_of_a_compiled_model_load_into_a_plain_one
D11 people's labels in another order
    datasets/test_human_answers.py: a_training_file_that_does_not_fit_is_refused
    datasets/test_human_answers.py: a_training_file_that_would_run_code_runs_none
D12 the best threshold is to never defer
    core
E1 a traceback of the file watcher at the start
    pages
E2 a reload loses the run
    pages
E3 stop stops the page and not the job
    pages
E4 one visitor's model is another's
    pages
E5 every click trains anew
    pages
"""
ROWS = re.findall(r"^(\w+) (.*)\n((?: {4}.*\n)+)", TABLE, re.MULTILINE)  # key, symptom, where it is tried
SYMPTOMS = {key: symptom for key, symptom, _ in ROWS}


def tried(key: str, **inputs: object) -> pytest.MarkDecorator:
    """Parametrises a test of a row: `given` is the row's own input, and neighbours of it, each by a name."""
    names = [name.replace("_", " ") for name in inputs]
    return pytest.mark.parametrize("given", inputs.values(), ids=[f"{key}-{SYMPTOMS[key]}-{name}" for name in names])
