import type { JSX } from 'preact'
import type { RetryRow } from '../../src/dashboard/contract.ts'
import { formatPercent, formatSignificant } from '../../src/text/format.ts'
import { useShared } from '../context.ts'
import { Link, Outside, Section, Tile } from '../parts/bits.tsx'
import { Series } from '../parts/chart.tsx'

const STEP_SECONDS = 10

export function Retries(): JSX.Element {
	const { t, overview } = useShared()
	return (
		<Section title={t.retries} note={t.retriesNote}>
			<div class="grid">
				{overview.retries.map((row) => (
					<Source key={row.source} row={row} />
				))}
			</div>
		</Section>
	)
}

function Source({ row }: { row: RetryRow }): JSX.Element {
	const { t, overview } = useShared()
	// The steps are aligned, so that the chart does not change between them.
	const end = Math.floor(overview.at / 1000 / STEP_SECONDS) * STEP_SECONDS
	const at = row.failures.map((_, index) => end - (row.failures.length - 1 - index) * STEP_SECONDS)
	return (
		<div class="panel">
			<h3>
				<Link view="calls" filter={{ source: row.source }}>
					<Outside text={row.source} />
				</Link>
			</h3>
			<dl class="tiles compact">
				<Tile label={t.retryRate}>{formatSignificant(row.retriesPerSecond)}</Tile>
				<Tile label={t.successRate}>
					{row.successRate === null ? t.none : formatPercent(row.successRate, 0)}
				</Tile>
				<Tile label={t.meanRetries}>
					{row.meanRetries === null ? t.none : formatSignificant(row.meanRetries)}
				</Tile>
				<Tile label={t.failureRate} tone={row.failuresPerSecond > 0 ? 'bad' : undefined}>
					{formatSignificant(row.failuresPerSecond)}
				</Tile>
			</dl>
			<Series
				at={at}
				height={64}
				isSmall
				lines={[
					{ label: t.retries, values: row.retries, color: 0 },
					{ label: t.failures, values: row.failures, color: 1 },
				]}
			/>
		</div>
	)
}
