/** Returns the WCAG contrast ratio of two colors, from 1 to 21 (black on white). */
export function contrast(one: string, other: string): number {
	const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
	return (lighter + 0.05) / (darker + 0.05)
}

/** Returns red, green and blue of a color in linear light, from 0 to 1. */
export const linearRgb = (color: string): readonly number[] =>
	[1, 3, 5].map((at) => {
		const share = Number.parseInt(color.slice(at, at + 2), 16) / 255
		return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
	})

function luminance(color: string): number {
	const [red = 0, green = 0, blue = 0] = linearRgb(color)
	return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
