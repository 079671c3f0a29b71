"""What runs in a page to find every word that has too little contrast with its ground (WCAG: 4.5)."""

from __future__ import annotations

CONTRAST = """() => {
    const parse = (text) => { const m = text.match(/[\\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
    const over = (top, ground) => top.slice(0, 3).map((c, i) => c * top[3] + ground[i] * (1 - top[3]));
    const light = (rgb) => rgb.map((c) => c / 255).map((c) => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
    // Of an element, once: what stands above it is what stands above its neighbours.
    const kept = (make) => { const made = new Map();
        return (node) => { if (!made.has(node)) made.set(node, make(node)); return made.get(node); }; };
    const ground = kept((node) => node
        ? over(parse(getComputedStyle(node).backgroundColor), ground(node.parentElement)) : [255, 255, 255]);
    const opaque = kept((node) => node ? getComputedStyle(node).opacity * opaque(node.parentElement) : 1);
    const wrong = [];
    const walk = document.createTreeWalker(document.querySelector('.stApp'), NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const node = walk.currentNode.parentElement;
        const box = node.getBoundingClientRect();
        const style = getComputedStyle(node);
        if (!/[\\p{L}\\p{N}]/u.test(walk.currentNode.data) || !box.width || !box.height || style.visibility === 'hidden') continue;
        if (node.closest('button[disabled], [aria-disabled=true], style, script, noscript')) continue;
        const opacity = opaque(node);
        const below = ground(node);
        const colour = parse(style.color);
        const shown = over([...colour.slice(0, 3), colour[3] * opacity], below);
        const [a, b] = [light(shown), light(below)].sort((x, y) => y - x);
        const contrast = (a + .05) / (b + .05);
        // What has its ground's own colour is hidden on purpose: the ends of a slider until it is pointed at.
        if (opacity * colour[3] > .05 && contrast > 1.01 && contrast < 4.5) wrong.push([walk.currentNode.data.slice(0, 40), +contrast.toFixed(2)]);
    }
    return wrong;
}"""
