"""The style sheet: what Streamlit's theme cannot express, in the theme's colours."""

import streamlit as st

_SHEET = """
<style>
.block-container, [data-testid="stMainBlockContainer"] {padding-top: 4.2rem; padding-bottom: 3rem; max-width: 1500px;}
[data-testid="stMainBlockContainer"] h1 {font-size: 1.75rem; padding: 0;}
[data-testid="stMainBlockContainer"] h2 {font-size: 1.25rem; font-weight: 600; padding: .6rem 0 .1rem;}
[data-testid="stMainBlockContainer"] h3 {font-size: 1rem; font-weight: 600; padding: .4rem 0 .1rem;}
[data-testid="stSidebarUserContent"] {padding-bottom: 2rem;}
[data-testid="stSidebarUserContent"] [data-testid="stVerticalBlock"] {gap: .55rem;}
/* Rows of charts wrap where the room is narrow, with the side bar open too. */
[class*="st-key-charts"] [data-testid="stHorizontalBlock"] {flex-wrap: wrap;}
[class*="st-key-charts"] [data-testid="stColumn"] {flex: 1 1 270px; min-width: 270px;}
[class*="st-key-wide-charts"] [data-testid="stColumn"] {flex: 1 1 360px; min-width: 360px;}
[class*="st-key-hidden-"] {visibility: hidden; position: absolute; height: 0; overflow: hidden;}
/* A grid's own download would have texts of others as they are, formulas too, and no note that it is no diagnosis. */
[data-testid="stDataFrame"] [aria-label^="Download"] {display: none;}
/* "Share" stands in the header, at its right end. */
.st-key-share-bar {position: fixed; top: .55rem; right: 1rem; z-index: 999992; width: auto !important;}
.st-key-share-bar button {min-height: 0; padding: .2rem .7rem;}
.st-key-scoreboard [data-testid="stHorizontalBlock"] {border-bottom: 1px solid rgba(128,136,146,.25);
  min-height: 2.1rem;}
.st-key-scoreboard button {min-height: 0; text-align: left;}
.st-key-home-sentence p {font-size: 1.35rem; line-height: 1.35;}
.st-key-scoreboard p {margin: 0;}
.st-key-scoreboard [data-testid="stMarkdownContainer"] {margin-bottom: 0 !important;}
.st-key-scoreboard button p {text-decoration: underline;}
.for-screen-readers {position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);}
[data-testid="stCaptionContainer"] {color: inherit; opacity: .82;}
.kpis {display: grid; grid-template-columns: repeat(auto-fit, minmax(148px, 1fr)); gap: .6rem; margin: .1rem 0;}
.kpi {border: 1px solid rgba(128,136,146,.35); border-left: 5px solid var(--look, rgba(128,136,146,.6));
  border-radius: .4rem; padding: .4rem .65rem .45rem;}
.kpi .name {font-size: .82rem; opacity: .85; line-height: 1.2;}
.kpi .value {font-size: 1.5rem; font-weight: 600; line-height: 1.35; white-space: nowrap;}
.kpi .value small {font-size: .85rem; font-weight: 400; opacity: .85;}
.kpi .note {font-size: .76rem; opacity: .8; line-height: 1.25;}
/* The live lab: controls on the left, which stay in sight; the stage on the right fits into a projector's window. */
[data-testid="stMainBlockContainer"]:has(.st-key-lab) {padding: 4.1rem 1.6rem 3rem; max-width: 1700px;}
.st-key-lab > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"] > [data-testid="stColumn"]:first-child
  {flex: 0 0 290px; min-width: 0; position: sticky; top: 3.75rem; align-self: flex-start;
  max-height: calc(100vh - 3.75rem); overflow-y: auto;}
.st-key-lab > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"] > [data-testid="stColumn"]:last-child
  {flex: 1 1 0; min-width: 0;}
/* One line, however long the name of the expert: what stands below must not move with it. */
.st-key-lab [data-testid="stMenuButtonButton"] {height: 2.5rem; overflow: hidden;}
.st-key-lab [data-testid="stMenuButtonButton"] :is(div, span):has(p) {min-width: 0; overflow: hidden;}
.st-key-lab [data-testid="stMenuButtonButton"] p {white-space: nowrap; overflow: hidden; text-overflow: ellipsis;}
.st-key-lab [data-testid="stVerticalBlock"] {gap: .5rem;}
.st-key-lab p.message {font-size: 1.2rem; font-weight: 600; line-height: 1.3; margin: 0; min-height: 2.6em;}
.st-key-stage-charts :is([data-testid="stElementContainer"], [data-testid="stFullScreenFrame"],
  [data-testid="stFullScreenFrame"] > div, [data-testid="stVegaLiteChart"]) {width: 100% !important;}
.st-key-stage-charts svg.marks {width: 100%; height: auto; max-height: calc(100vh - 17.5rem);}
.kpi .unit {font-size: .8rem; opacity: .85;} .kpi .delta {font-size: .85rem; font-weight: 600;}
.st-key-lab .kpi {padding: .3rem .6rem;}
.st-key-lab .kpi .pair {display: flex; gap: .3rem; align-items: baseline; white-space: nowrap;}
.st-key-lab .kpi .value {font-size: 1.2rem; line-height: 1.2;}
[data-testid="stMainBlockContainer"] .st-key-lab h1 {font-size: 1.4rem; padding-bottom: .5rem;}
[data-testid="stMainBlockContainer"] .st-key-lab h2 {padding-bottom: .5rem;}
@media (max-width: 900px) {
  .st-key-stage-charts [data-testid="stHorizontalBlock"] {flex-wrap: wrap;}
  .st-key-stage-charts [data-testid="stColumn"] {flex: 1 1 100%; min-width: 100%;}
  .st-key-lab > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"] {flex-direction: column;}
  .st-key-lab > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"] > [data-testid="stColumn"]
  {flex: 0 0 auto !important; width: 100%; position: static !important; max-height: none !important;}
}
.mark {display: inline-block; width: .75em; height: .75em; margin-right: .4em; vertical-align: -.05em;}
@media (max-width: 640px) {
  [class*="st-key-wide-charts"] [data-testid="stColumn"] {min-width: 100%;}
  .st-key-stage-choice [data-testid="stButtonGroup"] div {flex-wrap: wrap;}
}
</style>
"""


# White letters would be hard to read on the dark theme's light blue.
_DARK = """<style>
[data-testid="stBaseButton-primary"] *, [data-testid="stMultiSelectTagsContainer"] [data-tag] * {color: #12161c;}
</style>"""


def apply() -> None:
    """Put the style sheet into the page."""
    st.html(_SHEET + (_DARK if st.context.theme.type == "dark" else ""))
