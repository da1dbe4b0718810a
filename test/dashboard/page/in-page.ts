/** Programs that run in the page, as text: the tests know no document. */

export interface ColorPair {
	readonly color: readonly number[]
	readonly background: readonly number[]
	/** A text that has these colors. */
	readonly text: string
}

/** Returns each combination of a text color and the color behind it. A canvas resolves every notation of colors. */
export const TEXT_COLORS = `(() => {
	const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
	const channels = (color) => {
		canvas.clearRect(0, 0, 1, 1)
		canvas.fillStyle = color
		canvas.fillRect(0, 0, 1, 1)
		return [...canvas.getImageData(0, 0, 1, 1).data]
	}
	const found = new Map()
	for (const element of document.querySelectorAll('body *')) {
		const text = [...element.childNodes].find((node) => node.nodeType === 3 && node.nodeValue.trim())
		if (!text || element.closest('.hidden, :disabled, option, noscript')) continue
		let background = [0, 0, 0, 0]
		for (let behind = element; behind && background[3] !== 255; behind = behind.parentElement)
			background = channels(getComputedStyle(behind).backgroundColor)
		const color = channels(getComputedStyle(element).color)
		found.set(color + ' ' + background, {
			color: color.slice(0, 3),
			background: background.slice(0, 3),
			text: text.nodeValue.trim(),
		})
	}
	return [...found.values()]
})()`

/** Returns controls and images without a name. */
export const UNNAMED = `[...document.querySelectorAll('a, button, input, select, summary, progress, [role=img]')]
	.filter((element) => {
		const labels = [...(element.labels ?? [])].map((label) => label.textContent)
		return ![element.getAttribute('aria-label'), element.textContent, ...labels].some((text) => text?.trim())
	})
	.map((element) => element.outerHTML)`
