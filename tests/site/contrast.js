/* The least contrast of visible text on a page, by the formula of WCAG, with what has it. */
(() => {
  const parse = (text) => text.match(/[\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const over = (top, under) => top.slice(0, 3).map((v, i) => v * (top[3] ?? 1) + under[i] * (1 - (top[3] ?? 1)));
  function behind(node) {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255]);
  }
  let worst = [99, ""];
  const walker = document.createTreeWalker(document.querySelector(".md-container"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const box = node.getBoundingClientRect();
    const unseen = "[hidden], script, style, .katex-mathml, .headerlink";
    if (!walker.currentNode.data.trim() || !box.width || node.closest(unseen)) continue;
    const style = getComputedStyle(node);
    if (style.visibility === "hidden" || Number(style.opacity) < 1 || style.fontSize === "0px") continue;
    const back = behind(node);
    const [a, b] = [light(over(parse(style.color), back)), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const what = `${node.tagName}.${node.className}: ${walker.currentNode.data.trim().slice(0, 40)}`;
    if (ratio < worst[0]) worst = [ratio, what];
  }
  return worst;
})()
