import type { JSX } from 'preact'
import type { EndpointRow, EndpointsPage } from '../../src/dashboard/contract.ts'
import { formatNumber } from '../../src/text/format.ts'
import { destinationOf } from '../../src/webhooks/endpoint-names.ts'
import { useFilter, useShared } from '../context.ts'
import { usePages } from '../data/use-pages.ts'
import { ActionButton } from '../parts/action-button.tsx'
import { Badge, Copyable, Failed, Link, Outside, Time, View } from '../parts/bits.tsx'
import { Choice, FilterField } from '../parts/fields.tsx'
import { More } from '../parts/more.tsx'
import { Table } from '../parts/table.tsx'
import { toQuery } from '../state/url.ts'
import { ChooseSource } from './choose-source.tsx'

export function Webhooks(): JSX.Element {
	const { t, overview, version, mayAct, narrow } = useShared()
	const filter = useFilter()
	const names = overview.webhooks.map(({ source }) => source)
	const webhooks = filter['webhooks'] ?? names[0] ?? ''
	const pages = usePages<EndpointsPage, EndpointRow>(
		webhooks === '' ? undefined : `endpoints${toQuery({ ...filter, webhooks })}`,
		'after',
		({ endpoints, next }) => ({ items: endpoints, next }),
		version,
	)
	const change = (changed: Readonly<Record<string, string>>): void => narrow({ ...filter, ...changed })
	const answers = { '': t.all, true: t.yes, false: t.no }
	return (
		<View title={t.views.webhooks}>
			<form class="fields" onSubmit={(event) => event.preventDefault()}>
				<ChooseSource
					label={t.webhooks}
					names={names}
					value={webhooks}
					onChange={(name) => change({ webhooks: name })}
				/>
				<FilterField
					label={t.tenant}
					value={filter['tenant'] ?? ''}
					onInput={(tenant) => change({ tenant })}
				/>
				<Choice
					label={t.enabled}
					value={filter['isEnabled'] ?? ''}
					options={answers}
					onChange={(isEnabled) => change({ isEnabled })}
				/>
				<Choice
					label={t.failing}
					value={filter['isFailing'] ?? ''}
					options={{ '': t.all, true: t.yes }}
					onChange={(isFailing) => change({ isFailing })}
				/>
			</form>
			<Failed error={pages.error} />
			<Table<EndpointRow>
				caption={t.views.webhooks}
				rows={pages.items}
				rowKey={({ id }) => id}
				empty={pages.isLoading ? t.loading : t.noEndpoints}
				columns={[
					{ head: t.endpoint, kind: 'main', cell: (row) => <Name row={row} /> },
					{ head: t.tenant, cell: ({ tenant }) => <Outside text={tenant} /> },
					{ head: t.state, cell: (row) => <State row={row} /> },
					{ head: t.failed, kind: 'number', cell: ({ failures }) => formatNumber(failures) },
					{
						head: t.topics,
						kind: 'wide',
						cell: ({ topics }) => (topics.length === 0 ? t.allTopics : <Outside text={topics.join(', ')} />),
					},
					mayAct && {
						head: t.actionsColumn,
						kind: 'actions',
						cell: ({ id, url, actions }) =>
							actions.flatMap(({ action }) =>
								action === 'cancel-job'
									? []
									: [
											<ActionButton
												key={action}
												request={{ action, source: webhooks, subject: url, target: id }}
											/>,
										],
							),
					},
				]}
			/>
			<More pages={pages} />
		</View>
	)
}

function Name({ row }: { row: EndpointRow }): JSX.Element {
	return (
		<>
			<Link view="messages" filter={{ destination: destinationOf(row.id) }}>
				<Outside text={row.url} />
			</Link>
			{row.description && (
				<div class="muted">
					<Outside text={row.description} />
				</div>
			)}
			<div>
				<Copyable text={row.id} />
			</div>
		</>
	)
}

function State({ row }: { row: EndpointRow }): JSX.Element {
	const { t } = useShared()
	const reason = row.disabledReason ?? ''
	if (!row.isEnabled)
		return (
			<>
				<Badge tone="bad">{t.disabled}</Badge> <Outside text={t.disabledReasons[reason] ?? reason} />{' '}
				<Time at={row.disabledAt} />
			</>
		)
	if (row.failingSince === null) return <Badge tone="good">{t.enabled}</Badge>
	return (
		<>
			<Badge tone="warn">{t.failing}</Badge> <Time at={row.failingSince} />
		</>
	)
}
