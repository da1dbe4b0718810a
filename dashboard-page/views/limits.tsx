import type { JSX } from 'preact'
import type { LimitRow } from '../../src/dashboard/contract.ts'
import { formatPercent, formatSignificant } from '../../src/text/format.ts'
import { useShared } from '../context.ts'
import { Outside, Section } from '../parts/bits.tsx'
import { Table } from '../parts/table.tsx'

export function Limits(): JSX.Element {
	const { t, overview } = useShared()
	const number = (value: number | null): string => (value === null ? t.none : formatSignificant(value))
	return (
		<Section title={t.limits}>
			<Table<LimitRow>
				caption={t.limits}
				rows={overview.limits}
				rowKey={({ source, name, key, kind }) => JSON.stringify([source, name, key, kind])}
				columns={[
					{
						head: t.limit,
						kind: 'main',
						cell: ({ source, name, key }) => (
							<Outside
								text={[source, name === source ? '' : name, key ?? '']
									.filter((part) => part !== '')
									.join(' ')}
							/>
						),
					},
					{ head: t.kind, cell: ({ kind }) => t.words.limits[kind] },
					{ head: t.used, kind: 'number', cell: (row) => <Used row={row} /> },
					{ head: t.queued, kind: 'number', cell: ({ queued }) => number(queued) },
					{ head: t.available, kind: 'number', cell: ({ available }) => number(available) },
					{
						head: t.rejectProbability,
						kind: 'number',
						cell: ({ rejectProbability: share }) => (share === null ? t.none : formatPercent(share)),
					},
				]}
			/>
		</Section>
	)
}

function Used({ row: { used, limit } }: { row: LimitRow }): JSX.Element {
	const { t } = useShared()
	if (used === null) return <>{t.none}</>
	if (limit === null) return <>{formatSignificant(used)}</>
	return (
		<>
			{t.ofLimit(formatSignificant(used), formatSignificant(limit))}{' '}
			<meter
				aria-hidden="true"
				min={0}
				max={Math.max(limit, 1)}
				high={0.8 * limit}
				optimum={0}
				value={used}
			/>
		</>
	)
}
