"""The note that results on lesions carry wherever they are shown or exported."""

NOT_FOR_DIAGNOSIS = "Research demonstration, not for diagnosis"
DIAGNOSIS_NOTE = (
    f"{NOT_FOR_DIAGNOSIS}: the systems were trained and tested on published images, and give no advice on any lesion."
)
MEDICAL_ICON = ":material/medical_information:"
