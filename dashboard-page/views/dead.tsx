import type { JSX } from 'preact'
import type { DeadGroup, DeadGroups } from '../../src/dashboard/contract.ts'
import { useFilter, useShared } from '../context.ts'
import { useLoad } from '../data/use-load.ts'
import { ActionButton } from '../parts/action-button.tsx'
import { Badge, Failed, Link, Outside, Time, View } from '../parts/bits.tsx'
import { FilterField } from '../parts/fields.tsx'
import { Jobs } from '../parts/jobs.tsx'
import { Table } from '../parts/table.tsx'
import { requestsForGroup, selectionOfGroup } from '../state/dead-group.ts'
import { toQuery } from '../state/url.ts'
import { ChooseSource, useOutbox } from './choose-source.tsx'

export function Dead(): JSX.Element {
	const { t, overview, version, mayAct, narrow } = useShared()
	const { destination = '' } = useFilter()
	const { names, outbox } = useOutbox()
	// The counts change with the overview.
	const dead = overview.outboxes.find(({ source }) => source === outbox)?.totals.dead.count
	const { body, error, isLoading } = useLoad<DeadGroups>(
		`dead${toQuery({ outbox, destination })}`,
		`${version} ${dead}`,
	)
	const selection = destination === '' ? { all: true } : { destination }
	const base = { source: outbox, subject: destination === '' ? outbox : destination, selection }
	const hasAny = (body?.groups.length ?? 0) > 0
	return (
		<>
			<Jobs />
			<View
				title={t.views.dead}
				note={t.deadNote}
				actions={
					hasAny && (
						<div class="actions">
							<ActionButton label={t.replayAll} request={{ ...base, action: 'replay' }} />
							<ActionButton label={t.replaySince} request={{ ...base, action: 'replay', asksFrom: true }} />
							<ActionButton label={t.discardAll} request={{ ...base, action: 'discard' }} />
						</div>
					)
				}
			>
				<form class="fields" onSubmit={(event) => event.preventDefault()}>
					<ChooseSource
						label={t.outbox}
						names={names}
						value={outbox}
						onChange={(name) => narrow({ outbox: name })}
					/>
					<FilterField
						label={t.destination}
						value={destination}
						options={
							overview.outboxes
								.find(({ source }) => source === outbox)
								?.destinations.map((row) => row.destination) ?? []
						}
						onInput={(text) => narrow({ outbox, destination: text })}
					/>
				</form>
				<Failed error={error} />
				<Table<DeadGroup>
					caption={t.views.dead}
					rows={body?.groups ?? []}
					rowKey={(group) => JSON.stringify(selectionOfGroup(group))}
					empty={isLoading ? t.loading : t.noDead}
					columns={[
						{ head: t.count, kind: 'number', cell: ({ count }) => <b>{t.words.count(count)}</b> },
						{
							head: t.cause,
							kind: 'main',
							cell: ({ cause, error: text }) => (
								<>
									<Badge tone="bad">{cause}</Badge> <Outside text={text} />
								</>
							),
						},
						{ head: t.destination, cell: (group) => <Outside text={group.destination} /> },
						{ head: t.first, cell: ({ firstAt }) => <Time at={firstAt} /> },
						{ head: t.last, cell: ({ lastAt }) => <Time at={lastAt} /> },
						{ head: t.views.messages, cell: (group) => <Examples outbox={outbox} group={group} /> },
						mayAct && {
							head: t.actionsColumn,
							kind: 'actions',
							cell: (group) =>
								requestsForGroup(outbox, group).map((request) => (
									<ActionButton key={request.action} request={request} />
								)),
						},
					]}
				/>
			</View>
		</>
	)
}

function Examples({ outbox, group }: { outbox: string; group: DeadGroup }): JSX.Element {
	const { t } = useShared()
	const { destination, cause, exampleId } = group
	return (
		<>
			<Link view="message" filter={{ outbox, id: exampleId }}>
				{t.example}
			</Link>{' '}
			<Link view="messages" filter={{ outbox, destination, cause, status: 'dead' }}>
				{t.all}
			</Link>
		</>
	)
}
