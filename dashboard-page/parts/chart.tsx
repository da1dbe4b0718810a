/** A chart with its legend. The legend has the figures as text, of the last moment or of the one under the pointer. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { formatSignificant } from '../../src/text/format.ts'
import type { Chart } from '../charts.ts'
import { useShared } from '../context.ts'

export interface Line {
	readonly label: string
	readonly values: readonly number[]
	/** Its color: `s0` to `s2`. */
	readonly color: 0 | 1 | 2
}

export function Series(props: {
	at: readonly number[]
	lines: readonly Line[]
	title?: string
	height?: number
	isSmall?: boolean
	isBars?: boolean
}): JSX.Element {
	const { at, lines, title, height = 140, isSmall = false, isBars = false } = props
	const { t } = useShared()
	const place = useRef<HTMLDivElement>(null)
	const legend = useRef<HTMLDivElement>(null)
	const chart = useRef<Chart>(undefined)
	const [point, setPoint] = useState<number | null>(null)
	const scheme = useScheme()
	const data = { at, values: lines.map(({ values }) => values) }
	const latest = useRef(data)
	latest.current = data

	// Drawn again for other colors, and updated below.
	useEffect(() => {
		let isGone = false
		void import('../charts.ts').then(({ draw }) => {
			if (isGone || !place.current || !legend.current) return
			const style = getComputedStyle(legend.current)
			chart.current = draw(place.current, latest.current, {
				colors: [...legend.current.querySelectorAll('i')].map((mark) => getComputedStyle(mark).color),
				axis: style.color,
				grid: style.borderTopColor,
				font: `11px ${style.fontFamily}`,
				height,
				isSmall,
				isBars,
				onPoint: setPoint,
			})
		})
		return () => {
			isGone = true
			chart.current?.remove()
			chart.current = undefined
		}
	}, [scheme, height, isSmall, isBars])
	useEffect(() => chart.current?.update(data))

	const summary = lines.map(({ label, values }) =>
		t.describeSeries(label, formatSignificant(values.at(-1) ?? 0), formatSignificant(Math.max(0, ...values))),
	)
	return (
		<figure class="chart">
			{title && <figcaption>{title}</figcaption>}
			<div class="legend" ref={legend}>
				{lines.map(({ label, values, color }) => (
					<span key={label}>
						<i class={`s${color}`} aria-hidden="true" /> {label}{' '}
						{/* The last bar says nothing about the others. */}
						{(point !== null || !isBars) && (
							<b>{formatSignificant((point === null ? values.at(-1) : values[point]) ?? 0)}</b>
						)}
					</span>
				))}
			</div>
			<div ref={place} class="plot" role="img" aria-label={summary.join('. ')} />
		</figure>
	)
}

/** Canvas colors do not follow the theme by themselves. */
function useScheme(): string {
	const { preferences } = useShared()
	const [isDark, setDark] = useState(matchMedia('(prefers-color-scheme: dark)').matches)
	useEffect(() => {
		const query = matchMedia('(prefers-color-scheme: dark)')
		const change = (): void => setDark(query.matches)
		query.addEventListener('change', change)
		return () => query.removeEventListener('change', change)
	}, [])
	return preferences.theme === 'auto' ? String(isDark) : preferences.theme
}
