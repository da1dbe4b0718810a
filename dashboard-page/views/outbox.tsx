import type { JSX } from 'preact'
import type { DestinationRow, OutboxView, RelayRow } from '../../src/dashboard/contract.ts'
import { formatNumber, formatPercent, formatSignificant } from '../../src/text/format.ts'
import { useShared } from '../context.ts'
import { ActionButton } from '../parts/action-button.tsx'
import { Badge, Countdown, Duration, Link, Outside, Section, Tile, Time } from '../parts/bits.tsx'
import { Series } from '../parts/chart.tsx'
import { Table } from '../parts/table.tsx'
import type { ActionRequest } from '../state/action.ts'

const FIVE_MINUTES = 300

export function OutboxSection({ outbox }: { outbox: OutboxView }): JSX.Element {
	const { t, histories } = useShared()
	const { source, totals, destinations, forecast } = outbox
	const history = histories[source]
	const alive = outbox.relays.filter(({ isAlive }) => isAlive).length
	return (
		<Section
			title={
				<>
					{t.outbox}: <Outside text={source} />
				</>
			}
		>
			<dl class="tiles">
				<Tile label={t.due}>
					<Link view="messages" filter={{ outbox: source, status: 'pending' }}>
						{t.words.count(totals.due)}
					</Link>
				</Tile>
				<Tile label={t.scheduled}>{t.words.count(totals.scheduled)}</Tile>
				<Tile label={t.inFlight}>{t.words.count(totals.inFlight)}</Tile>
				<Tile label={t.dead} tone={totals.dead.count > 0 ? 'bad' : undefined}>
					<Link view="dead" filter={{ outbox: source }}>
						{t.words.count(totals.dead)}
					</Link>
				</Tile>
				<Tile label={t.lag} title={t.lagHelp}>
					<Duration ms={totals.lagMs} />
				</Tile>
				<Tile label={t.age} title={t.ageHelp}>
					<Duration ms={totals.ageMs} />
				</Tile>
				<Tile label={t.throughput}>{formatSignificant(outbox.throughput)}/s</Tile>
				<Tile label={t.relays} tone={alive === 0 ? 'bad' : undefined}>
					{t.ofLimit(formatNumber(alive), formatNumber(outbox.relays.length))}
				</Tile>
			</dl>
			<div class="grid wide">
				{history && history.at.length > 1 && (
					<>
						<Series
							title={t.sentPerSecond}
							at={history.at}
							lines={[{ label: t.throughput, values: history.throughput, color: 0 }]}
						/>
						<Series
							title={t.dueAndDead}
							at={history.at}
							lines={[
								{ label: t.due, values: history.due, color: 0 },
								{ label: t.dead, values: history.dead, color: 1 },
							]}
						/>
					</>
				)}
				{forecast.length > 0 && <Forecast outbox={outbox} />}
			</div>
			<h3>{t.destinations}</h3>
			<Destinations source={source} destinations={destinations} />
			{outbox.hasMoreDestinations && <p class="note">{t.moreDestinations}</p>}
			<h3>{t.relays}</h3>
			<Relays relays={outbox.relays} />
			{!outbox.keepsHistory && <p class="note">{t.noHistory}</p>}
		</Section>
	)
}

function Forecast({ outbox }: { outbox: OutboxView }): JSX.Element {
	const { t, overview } = useShared()
	const start = Math.floor(overview.at / 1000 / FIVE_MINUTES) * FIVE_MINUTES
	return (
		<Series
			title={t.forecast}
			isBars
			at={outbox.forecast.map((_, index) => start + index * FIVE_MINUTES)}
			lines={[{ label: t.forecastNote, values: outbox.forecast.map(({ count }) => count), color: 2 }]}
		/>
	)
}

function Destinations(props: { source: string; destinations: readonly DestinationRow[] }): JSX.Element {
	const { source, destinations } = props
	const { t, mayAct } = useShared()
	return (
		<Table<DestinationRow>
			caption={t.destinations}
			rows={destinations}
			rowKey={({ destination }) => destination}
			empty={t.noMessages}
			columns={[
				{
					head: t.destination,
					kind: 'main',
					cell: ({ destination }) => (
						<Link view="messages" filter={{ outbox: source, destination }}>
							<Outside text={destination} />
						</Link>
					),
				},
				{ head: t.state, kind: 'wide', cell: (row) => <State row={row} /> },
				{ head: t.due, kind: 'number', cell: ({ due }) => t.words.count(due) },
				{ head: t.scheduled, kind: 'number', cell: ({ scheduled }) => t.words.count(scheduled) },
				{ head: t.inFlight, kind: 'number', cell: ({ inFlight }) => t.words.count(inFlight) },
				{
					head: t.dead,
					kind: 'number',
					cell: ({ dead, destination }) =>
						dead.count > 0 ? (
							<Link view="dead" filter={{ outbox: source, destination }}>
								{t.words.count(dead)}
							</Link>
						) : (
							'0'
						),
				},
				{ head: t.lag, kind: 'number', title: t.lagHelp, cell: ({ lagMs }) => <Duration ms={lagMs} /> },
				{
					head: t.failingShare,
					kind: 'number',
					cell: ({ failingShare }) => (failingShare === null ? t.none : formatPercent(failingShare, 0)),
				},
				mayAct && {
					head: t.actionsColumn,
					kind: 'actions',
					cell: (row) =>
						requestsFor(source, row).map((request) => (
							<ActionButton key={request.action} request={request} />
						)),
				},
			]}
		/>
	)
}

function State({ row }: { row: DestinationRow }): JSX.Element {
	const { t } = useShared()
	if (row.pause === null) {
		const isClosed = row.circuit === 'closed'
		return <Badge tone={isClosed ? 'good' : 'warn'}>{t.words.circuitStates[row.circuit]}</Badge>
	}
	return (
		<>
			<Badge tone={row.pause === 'circuit' ? 'bad' : 'warn'}>{t.words.pauses[row.pause]}</Badge>{' '}
			{row.pauseEndsInMs !== null && <Countdown ms={row.pauseEndsInMs} />}{' '}
			{row.pause === 'operator' && (
				<span class="muted">
					<Outside text={[row.pausedBy, row.pauseReason].filter(Boolean).join(', ')} />
				</span>
			)}
		</>
	)
}

function requestsFor(source: string, row: DestinationRow): ActionRequest[] {
	const base = { source, subject: row.destination, target: row.destination }
	const first: ActionRequest[] = row.circuit === 'closed' ? [] : [{ ...base, action: 'close-circuit' }]
	const isPaused = row.pause === 'operator' || row.pause === 'retry-after'
	return [...first, { ...base, action: isPaused ? 'resume' : 'pause' }]
}

function Relays({ relays }: { relays: readonly RelayRow[] }): JSX.Element {
	const { t } = useShared()
	return (
		<Table<RelayRow>
			caption={t.relays}
			rows={relays}
			rowKey={({ id }) => id}
			empty={t.noRelays}
			columns={[
				{ head: t.relay, kind: 'main', cell: ({ id }) => <Outside text={id} isCode /> },
				{
					head: t.process,
					cell: ({ host, pid, isThisProcess }) => (
						<>
							<Outside text={t.words.processLine(host, pid)} />{' '}
							{isThisProcess && <Badge tone="calm">{t.thisProcess}</Badge>}
						</>
					),
				},
				{
					head: t.state,
					cell: ({ isAlive }) => <Badge tone={isAlive ? 'good' : 'bad'}>{isAlive ? t.alive : t.ended}</Badge>,
				},
				{ head: t.inFlight, kind: 'number', cell: ({ inFlight }) => formatNumber(inFlight) },
				{
					head: t.throughput,
					kind: 'number',
					cell: ({ throughput }) => `${formatSignificant(throughput)}/s`,
				},
				{ head: t.sent, kind: 'number', cell: ({ sent }) => formatNumber(sent) },
				{ head: t.failed, kind: 'number', cell: ({ failed }) => formatNumber(failed) },
				{ head: t.dead, kind: 'number', cell: ({ dead }) => formatNumber(dead) },
				{ head: t.seen, kind: 'number', cell: ({ seenAt }) => <Time at={seenAt} /> },
			]}
		/>
	)
}
