// Order of the search results: a term's own entry in the glossary, then chapters, then the pages that gather things.
var Scorer = {
  score: ([docname, title, anchor, descr, score]) => {
    if (docname === "book/glossary") return anchor ? 2 * score : score - 12; // the page as a whole says less than its entry
    return docname.startsWith("notebooks/") ? score + 3 : score;
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2, // as Sphinx has them
};
// A page that was opened from disk may not read other pages, so results come without an extract.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
