/** Endpoints as text. Their URLs are without credentials and query, which may be secrets of the customer. */
import type { WebhookEndpoint } from '../../outbox/webhooks/endpoint.ts'
import { urlForError } from '../../outbox/webhooks/transport/check-url.ts'
import { formatCount, formatDuration, formatNumber } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { formatPairs } from '../../text/table.ts'
import type { CommandIo } from '../io.ts'
import { relativeTo } from '../outbox/parse-time.ts'
import { alignColumns } from '../outbox/render-messages.ts'

type Format = Pick<CommandIo, 'style' | 'columns' | 'runtime'>

const REASONS: Readonly<Record<NonNullable<WebhookEndpoint['disabledReason']>, string>> = {
	operator: 'by an operator',
	failing: 'because it failed for too long',
	gone: 'because it returned 410',
}

/** A list of topics may be long; `--json` prints it in full. */
const MAX_TOPICS = 3

const topicsOf = ({ topics }: WebhookEndpoint): string => {
	const more = topics.length - MAX_TOPICS
	return `${topics.slice(0, MAX_TOPICS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Returns the URL without credentials; a query is only mentioned. */
export function shownUrl(url: string): string {
	const parsed = URL.canParse(url) ? new URL(url) : undefined
	return parsed ? `${urlForError(parsed)}${parsed.search === '' ? '' : '?...'}` : '(invalid)'
}

export function describeState({ isEnabled, disabledReason, failingSince }: WebhookEndpoint): string {
	if (!isEnabled) return `disabled ${disabledReason ? REASONS[disabledReason] : ''}`.trim()
	return failingSince ? 'failing' : 'enabled'
}

/** The lines of a list; below an endpoint that needs attention, what is wrong. */
export function renderEndpoints(endpoints: readonly WebhookEndpoint[], { style, runtime }: Format): string {
	if (endpoints.length === 0) return 'No endpoints match.'
	const now = runtime.wallNow()
	const rows = endpoints.map((endpoint) => {
		const { id, url, tenant, failingSince, failures } = endpoint
		return [
			id,
			describeState(endpoint),
			failingSince
				? `failing for ${formatDuration(now - failingSince.getTime())}, ${formatCount(failures, 'failure')}`
				: '',
			shownUrl(url),
			topicsOf(endpoint),
			tenant === undefined ? '' : `tenant ${tenant}`,
		]
	})
	return alignColumns(rows)
		.map((line, index) => (endpoints[index]?.isEnabled ? line : style.yellow(line)))
		.join('\n')
}

/** Counts of the messages of one endpoint, each with its state. */
export type EndpointMessages = Readonly<Record<'due' | 'scheduled' | 'inFlight' | 'dead', string>>

export function renderEndpoint(
	endpoint: WebhookEndpoint,
	messages: EndpointMessages,
	{ runtime, columns }: Format,
): string {
	const { id, destination, tenant, url, topics, description, disabledAt, failingSince, failures, createdAt } =
		endpoint
	const when = (moment: Date) => `${moment.toISOString()} (${relativeTo(runtime.wallNow(), moment)})`
	const pairs: readonly (readonly [string, string | undefined])[] = [
		['endpoint', id],
		['state', describeState(endpoint)],
		['disabled', disabledAt && when(disabledAt)],
		['failing since', failingSince && when(failingSince)],
		['failures', failures > 0 ? formatNumber(failures) : undefined],
		['url', shownUrl(url)],
		['topics', topics.join(', ')],
		['tenant', tenant],
		['description', description],
		['created', when(createdAt)],
		['destination', destination],
		[
			'messages',
			`${messages.due} due, ${messages.scheduled} scheduled, ${messages.inFlight} in flight, ${messages.dead} dead`,
		],
	]
	const known = pairs.flatMap(([name, value]) =>
		value === undefined ? [] : [[name, sanitizeLine(value)] as const],
	)
	return formatPairs(known, columns).join('\n')
}
