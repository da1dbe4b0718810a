import { describe, expect, it } from 'vitest'
import { DARK, LIGHT, RAMP_STEPS } from '../../../src/sim/charts/stylesheet.ts'
import { contrast, linearRgb } from './contrast.ts'

describe.each([
	['light', LIGHT],
	['dark', DARK],
])('on a %s background', (_, theme) => {
	it('text has a contrast above 4.5, also on fault bands', () => {
		for (const color of [theme.text, theme.muted]) {
			expect(contrast(color, theme.background)).toBeGreaterThan(4.5)
			expect(contrast(color, theme.shade)).toBeGreaterThan(4.5)
		}
	})

	it('series have a contrast above 3', () => {
		expect(theme.series).toHaveLength(6)
		for (const color of theme.series) expect(contrast(color, theme.background)).toBeGreaterThan(3)
	})

	it('each step of the ramp has more contrast than the one before', () => {
		const steps = theme.ramp.map((color) => contrast(color, theme.background))
		expect(steps).toHaveLength(RAMP_STEPS)
		expect(steps).toEqual(steps.toSorted((a, b) => a - b))
		expect(new Set(steps).size).toBe(RAMP_STEPS)
	})

	it('the number in a cell has a contrast above 4.5 on every step', () => {
		for (const [step, color] of theme.ramp.entries())
			expect(contrast(theme.ink(step), color)).toBeGreaterThan(4.5)
	})

	it('series colors differ for readers with protanopia, deuteranopia and tritanopia', () => {
		for (const kind of KINDS) {
			const seen = theme.series.map((color) => seenAs(color, kind))
			seen.forEach((one, index) => {
				for (const other of seen.slice(0, index)) expect(distance(one, other)).toBeGreaterThan(0.09)
			})
		}
	})
})

/** Color matrices of severe protanopia, deuteranopia and tritanopia (Machado, Oliveira and Fernandes, 2009). */
const KINDS = [
	[0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
	[0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
	[1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
]

function seenAs(color: string, kind: readonly number[]): readonly number[] {
	const parts = linearRgb(color)
	return [0, 3, 6].map((row) =>
		Math.max(
			0,
			parts.reduce((sum, part, index) => sum + part * (kind[row + index] ?? 0), 0),
		),
	)
}

/** The distance in Oklab, where equal distances look equal. */
function distance(one: readonly number[], other: readonly number[]): number {
	const [a, b] = [oklab(one), oklab(other)]
	return Math.hypot(...a.map((value, index) => value - (b[index] ?? 0)))
}

function oklab([red = 0, green = 0, blue = 0]: readonly number[]): readonly number[] {
	const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
	const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
	const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
	return [
		0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
		1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
		0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
	]
}

describe('contrast', () => {
	it('is 21 for black on white and 1 for equal colors', () => {
		expect(contrast('#000000', '#ffffff')).toBeCloseTo(21)
		expect(contrast('#123456', '#123456')).toBe(1)
	})
})
