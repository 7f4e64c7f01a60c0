"""What links to Home carry."""

from app.home import state, table
from app.sharing.carried import Carried

LINKS = Carried(lambda: {state.ACCURACY: None}, defaults=lambda: {state.ACCURACY: str(table.DEFAULT)})
