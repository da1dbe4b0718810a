import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { MessageRow, MessageStatus, MessagesPage } from '../../src/dashboard/contract.ts'
import { formatNumber } from '../../src/text/format.ts'
import { useFilter, useShared } from '../context.ts'
import { usePages } from '../data/use-pages.ts'
import { ActionButton } from '../parts/action-button.tsx'
import { Badge, Failed, Link, Outside, Time, type Tone, View } from '../parts/bits.tsx'
import { More } from '../parts/more.tsx'
import { Table } from '../parts/table.tsx'
import { type ActionRequest, actionsOfStatus, requestsForChosen, selectionOfFilter } from '../state/action.ts'
import { type Filter, toQuery } from '../state/url.ts'
import { useOutbox } from './choose-source.tsx'
import { SearchForm } from './search-form.tsx'

export const STATUS_TONES: Readonly<Record<MessageStatus, Tone>> = {
	pending: 'calm',
	'in-flight': 'warn',
	dead: 'bad',
	sent: 'good',
	discarded: 'calm',
}

const isScan = (filter: Filter): boolean =>
	filter['topic'] !== undefined || filter['text'] !== undefined || filter['path'] !== undefined

export function Messages(): JSX.Element {
	const { t, version } = useShared()
	const filter = useFilter()
	const { outbox } = useOutbox()
	const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
	const pages = usePages<MessagesPage, MessageRow>(
		outbox === '' ? undefined : `messages${toQuery({ ...filter, outbox })}`,
		'after',
		({ messages, next, scanned }) => ({ items: messages, next, scanned }),
		version,
	)
	const choose = (id: string, isChosen: boolean): void => {
		const next = new Set(chosen)
		if (isChosen) next.add(id)
		else next.delete(id)
		setChosen(next)
	}
	return (
		<View title={t.views.messages}>
			<SearchForm key={JSON.stringify(filter)} />
			<p class="found" role="status">
				{isScan(filter)
					? t.scanned(formatNumber(pages.scanned), pages.items.length)
					: pages.isLoading
						? t.loading
						: t.found(pages.items.length, pages.next === null)}{' '}
				{isScan(filter) && pages.isLoading && (
					<>
						<progress aria-label={t.loading} />{' '}
						<button type="button" onClick={pages.stop}>
							{t.stop}
						</button>
					</>
				)}
			</p>
			<Bulk
				outbox={outbox}
				filter={filter}
				chosen={pages.items.filter(({ id }) => chosen.has(id))}
				hasAny={pages.items.length > 0}
			/>
			<Failed error={pages.error} />
			<Results
				outbox={outbox}
				rows={pages.items}
				chosen={chosen}
				onChoose={choose}
				isLoading={pages.isLoading}
			/>
			{!pages.isLoading && <More pages={pages} />}
		</View>
	)
}

function Results(props: {
	outbox: string
	rows: readonly MessageRow[]
	chosen: ReadonlySet<string>
	isLoading: boolean
	onChoose(id: string, isChosen: boolean): void
}): JSX.Element {
	const { t, mayAct } = useShared()
	const { outbox, rows, chosen, onChoose } = props
	return (
		<Table<MessageRow>
			caption={t.views.messages}
			rows={rows}
			rowKey={({ id }) => id}
			empty={props.isLoading ? t.loading : t.noMessages}
			columns={[
				mayAct && {
					head: t.selectRow,
					kind: 'choice',
					cell: ({ id }) => (
						<input
							type="checkbox"
							aria-label={`${t.selectRow} ${id}`}
							checked={chosen.has(id)}
							onChange={(event) => onChoose(id, event.currentTarget.checked)}
						/>
					),
				},
				{
					head: t.id,
					kind: 'main',
					cell: ({ id }) => (
						<Link view="message" filter={{ outbox, id }}>
							<Outside text={id} isCode />
						</Link>
					),
				},
				{
					head: t.status,
					cell: ({ status }) => <Badge tone={STATUS_TONES[status]}>{t.words.statuses[status]}</Badge>,
				},
				{ head: t.destination, cell: ({ destination }) => <Outside text={destination} /> },
				{ head: t.topic, cell: ({ topic }) => <Outside text={topic} /> },
				{ head: t.key, cell: ({ key }) => <Outside text={key} /> },
				{ head: t.attempts, kind: 'number', cell: ({ attempts }) => formatNumber(attempts) },
				{ head: t.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
				{
					head: t.error,
					kind: 'wide',
					cell: ({ cause, error }) => (
						<span class="clip">
							{cause !== null && <b>{cause} </b>}
							<Outside text={error} />
						</span>
					),
				},
			]}
		/>
	)
}

/** Actions on the chosen messages, or on all that match the search. */
function Bulk(props: {
	outbox: string
	filter: Filter
	chosen: readonly MessageRow[]
	hasAny: boolean
}): JSX.Element | null {
	const { t, mayAct } = useShared()
	const { outbox, filter, chosen, hasAny } = props
	const selection = selectionOfFilter(filter)
	const requests =
		chosen.length > 0
			? requestsForChosen(outbox, chosen, t.selected)
			: selection === undefined || !hasAny
				? []
				: // Without a status it would not be clear what an action is about.
					actionsOfStatus(filter['status']).map(
						(action): ActionRequest => ({ action, source: outbox, subject: t.all, selection }),
					)
	return !mayAct || requests.length === 0 ? null : (
		<div class="bulk">
			<span>{chosen.length > 0 ? t.selected(chosen.length) : t.all}:</span>
			{requests.map((request) => (
				<ActionButton key={request.action} request={request} />
			))}
		</div>
	)
}
