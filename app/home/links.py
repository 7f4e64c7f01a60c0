"""What links to Home carry."""

from app.home import state
from app.sharing.carried import Carried

LINKS = Carried(lambda: {state.ACCURACY: None})
