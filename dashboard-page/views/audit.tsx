import type { JSX } from 'preact'
import type { AuditPage, AuditRow } from '../../src/dashboard/contract.ts'
import { useShared } from '../context.ts'
import { usePages } from '../data/use-pages.ts'
import { Failed, Link, Outside, Time, View } from '../parts/bits.tsx'
import { More } from '../parts/more.tsx'
import { Table } from '../parts/table.tsx'
import { toQuery } from '../state/url.ts'
import { ChooseSource, useOutbox } from './choose-source.tsx'

export function AuditList(): JSX.Element {
	const { t, version, go } = useShared()
	const { names, outbox } = useOutbox()
	const pages = usePages<AuditPage, AuditRow>(
		outbox === '' ? undefined : `audit${toQuery({ outbox })}`,
		'before',
		({ records, next }) => ({ items: records, next }),
		version,
	)
	return (
		<View title={t.views.audit}>
			<form class="fields" onSubmit={(event) => event.preventDefault()}>
				<ChooseSource
					label={t.outbox}
					names={names}
					value={outbox}
					onChange={(name) => go('audit', { outbox: name })}
				/>
			</form>
			<Failed error={pages.error} />
			<AuditTable rows={pages.items} outbox={outbox} empty={pages.isLoading ? t.loading : t.noAudit} />
			<More pages={pages} />
		</View>
	)
}

/** `outbox` links to the message of each record. */
export function AuditTable(props: {
	rows: readonly AuditRow[]
	outbox?: string
	empty: string
}): JSX.Element {
	const { rows, outbox, empty } = props
	const { t } = useShared()
	return (
		<Table<AuditRow>
			caption={t.audit}
			rows={rows}
			rowKey={(row) => JSON.stringify(row)}
			empty={empty}
			columns={[
				{ head: t.time, cell: ({ at }) => <Time at={at} /> },
				{ head: t.by, kind: 'main', cell: ({ by }) => <Outside text={by} /> },
				{ head: t.action, cell: ({ action }) => <b>{action}</b> },
				{ head: t.destination, cell: ({ destination }) => <Outside text={destination} /> },
				outbox !== undefined && {
					head: t.message,
					cell: ({ messageId }) =>
						messageId === null ? (
							t.none
						) : (
							<Link view="message" filter={{ outbox, id: messageId }}>
								<Outside text={messageId} isCode />
							</Link>
						),
				},
				{ head: t.reason, kind: 'wide', cell: ({ reason }) => <Outside text={reason} /> },
				{ head: t.details, kind: 'wide', cell: ({ details }) => <Outside text={details} /> },
			]}
		/>
	)
}
