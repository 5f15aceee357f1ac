/* Filters and sorts the index of operators. */

(() => {
  const start = () => {
    const form = document.querySelector("form.op-filter");
    if (!form) return;
    const frame = form.parentElement;
    const body = frame.querySelector("tbody");
    const rows = [...body.rows];
    const heads = [...frame.querySelectorAll("th[aria-sort]")];
    const numbers = ["speed", "ratio"];

    function sorted(key, up) {
      if (!key) return rows;
      const value = (row) => (numbers.includes(key) ? Number(row.dataset[key]) : row.dataset[key]);
      const none = (row) => row.dataset[key] === "";  // what was not measured stands last, either way
      return [...rows].sort((a, b) => none(a) - none(b) || (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (up ? 1 : -1));
    }
    function show(key, up) {
      const wanted = form.words.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const row of rows) {
        const { family, dtypes, status, words, name } = row.dataset;
        const kept = (!form.family.value || family === form.family.value)
          && (!form.dtypes.value || dtypes.split(" ").includes(form.dtypes.value))
          && (!form.status.value || status === form.status.value)
          && wanted.every((word) => `${name} ${words}`.includes(word));
        row.hidden = !kept;
        count += kept;
      }
      body.append(...sorted(key, up));
      for (const head of heads) {
        const own = head.firstElementChild.dataset.sort === key;
        head.setAttribute("aria-sort", own ? (up ? "ascending" : "descending") : "none");
      }
      form.querySelector(".op-count").textContent = `${count} of ${rows.length} operators`;
    }
    let order = ["", true];
    form.addEventListener("input", (event) => {
      if (event.target.name === "sort") order = [event.target.value, !numbers.includes(event.target.value)];
      show(...order);
    });
    form.addEventListener("submit", (event) => event.preventDefault());
    for (const head of heads) {
      head.firstElementChild.addEventListener("click", ({ currentTarget: { dataset } }) => {
        const first = !numbers.includes(dataset.sort);
        order = [dataset.sort, order[0] === dataset.sort ? !order[1] : first];
        form.sort.value = ["speed", "ratio", "name"].includes(dataset.sort) ? dataset.sort : "";
        show(...order);
      });
    }
    show(...order);  // a browser may keep what was entered before
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
