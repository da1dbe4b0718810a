import type { JSX } from 'preact'
import type { CircuitRow } from '../../src/dashboard/contract.ts'
import { circuitName } from '../../src/dashboard/words/sentence.ts'
import { formatNumber, formatPercent, formatSignificant } from '../../src/text/format.ts'
import { useShared } from '../context.ts'
import { ActionButton } from '../parts/action-button.tsx'
import { Badge, Countdown, Growing, Link, Outside, Section, type Tone } from '../parts/bits.tsx'
import { Table } from '../parts/table.tsx'
import type { ActionRequest } from '../state/action.ts'

const TONES: Readonly<Record<CircuitRow['state'], Tone>> = {
	closed: 'good',
	open: 'bad',
	'half-open': 'warn',
	isolated: 'bad',
}

export function Circuits(): JSX.Element {
	const { t, overview, mayAct } = useShared()
	return (
		<Section title={t.circuits}>
			<Table<CircuitRow>
				caption={t.circuits}
				rows={overview.circuits}
				rowKey={({ source, id }) => `${id} ${source}`}
				columns={[
					{ head: t.circuit, kind: 'main', cell: (row) => <Name row={row} /> },
					{
						head: t.state,
						cell: (row) => (
							<>
								<Badge tone={TONES[row.state]}>{t.words.circuitStates[row.state]}</Badge>{' '}
								{row.isShadow && <Badge tone="calm">{t.words.shadow}</Badge>}
							</>
						),
					},
					{ head: t.since, kind: 'number', cell: (row) => <Growing ms={row.sinceMs} /> },
					{ head: t.nextProbe, kind: 'number', cell: (row) => <Countdown ms={row.probeInMs} /> },
					{ head: t.errorRate, kind: 'number', cell: (row) => <Errors row={row} /> },
					{
						head: t.rejected,
						kind: 'number',
						cell: (row) =>
							row.rejectedPerSecond > 0 ? `${formatSignificant(row.rejectedPerSecond)}/s` : t.none,
					},
					{ head: t.lastError, kind: 'wide', cell: (row) => <Outside text={row.lastError} /> },
					mayAct && {
						head: t.actionsColumn,
						kind: 'actions',
						cell: (row) =>
							requestsFor(row).map((request) => <ActionButton key={request.action} request={request} />),
					},
				]}
			/>
		</Section>
	)
}

function Name({ row }: { row: CircuitRow }): JSX.Element {
	const name = circuitName({ source: row.source, circuit: row.name, key: row.key })
	return (
		<Link view="calls" filter={{ source: row.source, key: row.key ?? undefined }}>
			<Outside text={row.source} />
			{name !== '' && (
				<>
					{' '}
					<Outside text={name} />
				</>
			)}
		</Link>
	)
}

function Errors({ row }: { row: CircuitRow }): JSX.Element {
	const { t } = useShared()
	if (row.errorRate === null) return <>{t.none}</>
	return (
		<>
			{formatPercent(row.errorRate, 0)}{' '}
			<span class="muted">({t.failuresOf(formatNumber(row.failures), formatNumber(row.calls))})</span>
		</>
	)
}

function requestsFor(row: CircuitRow): ActionRequest[] {
	const base = {
		source: row.source,
		subject: [row.source, circuitName({ source: row.source, circuit: row.name, key: row.key })]
			.join(' ')
			.trim(),
		target: row.id,
	}
	if (row.state === 'isolated') return row.isIsolatedHere ? [{ ...base, action: 'release' }] : []
	const isolate: ActionRequest = { ...base, action: 'isolate' }
	return row.state === 'closed' ? [isolate] : [{ ...base, action: 'reset' }, isolate]
}
