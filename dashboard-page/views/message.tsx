import type { ComponentChildren, JSX } from 'preact'
import type { AttemptRow, MessageView } from '../../src/dashboard/contract.ts'
import { sanitizeText } from '../../src/text/sanitize.ts'
import { useFilter, useShared } from '../context.ts'
import { ApiError } from '../data/api.ts'
import { useLoad } from '../data/use-load.ts'
import { ActionButton } from '../parts/action-button.tsx'
import { Badge, Copy, Copyable, Failed, FullTime, Link, Outside, View } from '../parts/bits.tsx'
import { Table } from '../parts/table.tsx'
import type { ActionRequest } from '../state/action.ts'
import { toQuery } from '../state/url.ts'
import { AuditTable } from './audit.tsx'
import { useOutbox } from './choose-source.tsx'
import { STATUS_TONES } from './messages.tsx'

export function Message(): JSX.Element {
	const { t, version } = useShared()
	const { id = '' } = useFilter()
	const { outbox } = useOutbox()
	const { body, error, isLoading } = useLoad<MessageView>(`message${toQuery({ outbox, id })}`, version)
	const isMissing = error instanceof ApiError && error.status === 404
	return (
		<View
			title={
				<>
					{t.message} <Copyable text={id} />
				</>
			}
			actions={body && <Actions outbox={outbox} message={body} />}
		>
			<p>
				<Link view="messages" filter={{ outbox }}>
					{t.back}
				</Link>
			</p>
			{isMissing ? <p class="empty">{t.notFound}</p> : <Failed error={error} />}
			{body ? <Details outbox={outbox} message={body} /> : isLoading && <p class="empty">{t.loading}</p>}
		</View>
	)
}

function Details({ outbox, message }: { outbox: string; message: MessageView }): JSX.Element {
	const { t } = useShared()
	return (
		<>
			<p class="why">
				<Badge tone={STATUS_TONES[message.status]}>{t.words.statuses[message.status]}</Badge>{' '}
				<span class="outside">{sanitizeText(message.why)}</span>
			</p>
			<dl class="facts">
				<Fact label={t.destination}>
					<Link view="messages" filter={{ outbox, destination: message.destination }}>
						<Outside text={message.destination} />
					</Link>
				</Fact>
				<Fact label={t.topic}>
					<Outside text={message.topic} />
				</Fact>
				<Fact label={t.key}>
					{message.key === null ? (
						t.none
					) : (
						<Link view="messages" filter={{ outbox, key: message.key }}>
							<Outside text={message.key} />
						</Link>
					)}
				</Fact>
				<Fact label={t.dedupeKey}>
					<Outside text={message.dedupeKey} />
				</Fact>
				<Fact label={t.created}>
					<FullTime at={message.createdAt} />
				</Fact>
				<Fact label={t.due}>
					<FullTime at={message.dueAt} />
				</Fact>
				<Fact label={t.lastAttempt}>
					<FullTime at={message.lastAttemptAt} />
				</Fact>
				<Fact label={t.endedAt}>
					<FullTime at={message.endedAt} />
				</Fact>
				<Fact label={t.expires}>
					<FullTime at={message.expiresAt} />
				</Fact>
				<Fact label={t.attempts}>{message.attempts}</Fact>
				{message.cause !== null && <Fact label={t.cause}>{message.cause}</Fact>}
				{message.error !== null && (
					<Fact label={t.error}>
						<Outside text={message.error} />
					</Fact>
				)}
			</dl>
			<h2>{t.timeline}</h2>
			{message.hasAttemptLog ? <Timeline rows={message.timeline} /> : <p class="note">{t.noTimeline}</p>}
			<h2>{t.payload}</h2>
			{message.payload === null ? (
				<p class="note">{t.payloadHidden}</p>
			) : (
				<div class="payload">
					<Copy text={message.payload} label={t.payload} />
					{/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls needs the focus for the keyboard */}
					<pre tabIndex={0}>{sanitizeText(message.payload)}</pre>
				</div>
			)}
			<h2>{t.headers}</h2>
			{Object.keys(message.headers).length === 0 ? (
				<p class="empty">{t.none}</p>
			) : (
				<dl class="facts">
					{Object.entries(message.headers).map(([name, value]) => (
						<Fact key={name} label={sanitizeText(name)}>
							<Outside text={value} isCode />
						</Fact>
					))}
				</dl>
			)}
			<h2>{t.command}</h2>
			<ul class="commands">
				{message.actions.map(({ action, command }) => (
					<li key={action}>
						<Copyable text={command} />
					</li>
				))}
			</ul>
			<h2>{t.audit}</h2>
			<AuditTable rows={message.audit} empty={t.noAudit} />
		</>
	)
}

function Fact({ label, children }: { label: string; children: ComponentChildren }): JSX.Element {
	return (
		<div>
			<dt>{label}</dt>
			<dd>{children}</dd>
		</div>
	)
}

function Timeline({ rows }: { rows: readonly AttemptRow[] }): JSX.Element {
	const { t } = useShared()
	return (
		<Table<AttemptRow>
			caption={t.timeline}
			rows={rows}
			rowKey={({ attempt, startedAt }) => `${attempt} ${startedAt}`}
			empty={t.none}
			columns={[
				{ head: t.attempt, kind: 'number', cell: ({ attempt }) => attempt },
				{ head: t.time, kind: 'main', cell: ({ startedAt }) => <FullTime at={startedAt} /> },
				{ head: t.duration, kind: 'number', cell: ({ durationMs }) => t.words.measured(durationMs) },
				{
					head: t.outcome,
					cell: ({ outcome, statusCode }) => (
						<>
							<Outside text={outcome} />
							{statusCode !== null && ` (HTTP ${statusCode})`}
						</>
					),
				},
				{
					head: t.error,
					kind: 'wide',
					cell: ({ error, response }) => (
						<>
							<Outside text={error} />
							{response && (
								<details>
									<summary>{t.response}</summary>
									<pre>{sanitizeText(response)}</pre>
								</details>
							)}
						</>
					),
				},
				{ head: t.relay, cell: ({ relay }) => <Outside text={relay} isCode /> },
			]}
		/>
	)
}

function Actions({ outbox, message }: { outbox: string; message: MessageView }): JSX.Element {
	return (
		<div class="actions">
			{message.actions.flatMap(({ action }) => {
				if (action === 'cancel-job') return []
				const base = { source: outbox, subject: message.id }
				const request: ActionRequest =
					action === 'resend'
						? { ...base, action, target: message.id }
						: { ...base, action, selection: { ids: [message.id] } }
				return [<ActionButton key={action} request={request} />]
			})}
		</div>
	)
}
