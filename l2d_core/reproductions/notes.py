"""What differs from the paper at each scale, in words: the same for all results that are made at it."""

from l2d_core.reproductions.request import Request

_QUICK = (
    "Quick: {kind} heads on fixed features ({title}), trained by AdamW for {epochs} epochs, not whole networks.",
    "Why a head's softmax can be further off than a whole network's: to be calibrated, softmax's deferral score has to "
    "follow ln P plus the log-sum-exp of the class scores, which bends with the image; that of one-vs-all only "
    "the log-odds of P. A small head cannot, on its own training cases either, where its softmax odds were found "
    "to have about the ECE that they have on test. Whole networks tell, where they are shown beside.",
    "Heads are trained to the end, on fewer cases than the paper's networks and without a stop by validation loss, so "
    "that with random data they learn some of the drawn labels by heart, and are too sure.",
    "A seed decides the order of the batches, first weights and the expert's answers, in training and on test; the "
    "split is the same for all. The paper's seeds draw first weights and batches, and answers anew in each batch.",
)
_PLAIN = (
    "Answers are drawn once for a run, in the authors' code anew in each batch; batch norm is evaluated with running "
    "statistics, in the authors' code with those of each batch; inputs are standardised by the training images."
)
_REFERENCE = (
    "As the authors ran it: answers are drawn anew in each batch, batch norm is evaluated with the statistics of each "
    "batch, losses are in bits. Inputs are standardised by the training images; in their code each split by its own."
)


def notes_of(request: Request, *own: str) -> tuple[str, ...]:
    """The notes of a result, then those of its scale."""
    if request.scale == "quick":
        data = request.data
        numbers = {"kind": data.head.kind, "title": data.title, "epochs": data.head.epochs}
        return (*own, *(note.format(**numbers) for note in _QUICK))
    config = request.network
    about = (
        f"Networks: {config.model}, {config.epochs} epochs at most, batches of {config.batch_size}, {config.schedule} "
        f"up to {config.learning_rate:g}, augmentation {config.augment!r}. The paper: wide_resnet 28-4, batches of "
        "1024, cosine from 0.1, augmentation 'none'."
    )
    return (*own, about, _REFERENCE if request.reference else _PLAIN)
