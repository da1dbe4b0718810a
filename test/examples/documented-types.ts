/**
 * Compares the guide with types, which have no value at run time. Writes a module that the compiler accepts only if a table names exactly
 * the members of its type. Reading the declarations as text would break with every change of their layout.
 */
import { entriesOf, named, type Page, page, table, unquoted } from './markdown.ts'
import type { EventFields, Events, Facts, Options } from './types.ts'

type Rows = readonly (readonly string[])[]

/** The names in the first column, without parameters. */
const firstNames = (rows: Rows): readonly string[] =>
	rows.flatMap(([cell = '']) => named(cell)).map((name) => unquoted(name).replace(/\(.*/, ''))

const guide = (name: string): Page => page(`docs/guide/${name}.md`)

/** The headings of a section of the index of errors. */
const indexed = (section: string): readonly string[] =>
	entriesOf(guide('errors'), section).map(({ heading }) => heading)

/** The first column of each table of options. The compiler checks that no table is left out. */
const optionTables: Readonly<Record<keyof Options, true>> = {
	'retry: option': true,
	'retry: call option': true,
	'circuit-breaker: option': true,
	'circuit-breaker: resetBackoff option': true,
	'bulkhead: option': true,
	'bulkhead: adaptive option': true,
	'timeout: option': true,
	'fallback: option': true,
	'hedge: option': true,
	'rate-limit: option': true,
	'rate-limit: throttle option': true,
	'budgets: retry budget option': true,
	'budgets: token budget option': true,
	'simulator: quota budget option': true,
	'pipelines: pipeline option': true,
	'pipelines: keyed option': true,
	'http-reference: option': true,
	'http-reference: cache option': true,
	'http-reference: request option': true,
	'http-client: auth option': true,
	'http-client: client option': true,
	'retry-after: retry-after option': true,
	'across-services: server option': true,
	'grpc-reference: grpc client option': true,
	'grpc-reference: grpc server option': true,
	'idempotency-reference: idempotency option': true,
	'idempotency-reference: web adapter option': true,
	'idempotency-reference: postgres key option': true,
	'idempotency-reference: sqlite key option': true,
	'idempotency-reference: redis key option': true,
	'idempotency-reference: memory key option': true,
	'outbox-reference: outbox option': true,
	'outbox-reference: message field': true,
	'outbox-reference: enqueue option': true,
	'outbox-reference: relay option': true,
	'outbox-reference: destination option': true,
	'outbox-reference: http destination option': true,
	'batches: batch option': true,
	'attempt-log: attempt log option': true,
	'inbox: inbox option': true,
	'inbox: postgres inbox option': true,
	'inbox: sqlite inbox option': true,
	'dead-letters: filter': true,
	'dead-letters: replay option': true,
	'outbox-stores: postgres option': true,
	'outbox-stores: sqlite option': true,
	'outbox-reference: `stats()`': true,
	'tracing-reference: option': true,
	'logging: logger option': true,
	'event-log: event log option': true,
	'verify-webhooks: verification option': true,
	'webhooks-reference: webhooks option': true,
	'webhooks-reference: protection option': true,
	'webhooks-reference: event field': true,
	'webhooks-reference: field of create': true,
	'webhooks-reference: field of update': true,
	'webhooks-reference: rotation option': true,
	'webhooks-reference: condition of list': true,
	'webhooks-reference: resend option': true,
	'webhooks-reference: field of an endpoint': true,
	'testing: option': true,
}

function documentedFacts(): Readonly<Record<keyof Facts, readonly string[]>> {
	const [backoff, explain, events, http, client, relay, dead, outbox, webhooks] = [
		guide('backoff'),
		guide('explain'),
		guide('events'),
		guide('http-reference'),
		guide('http-client'),
		guide('relay'),
		guide('dead-letters'),
		guide('outbox-reference'),
		guide('webhooks-reference'),
	]
	const released = table(outbox, '`type`', 'when', 'its own fields').find(
		([type]) => type === '`relay_released`',
	)
	const stats = table(client, '', '').find(([member]) => member === '`stats`')
	return {
		growth: firstNames(table(backoff, '`growth`')),
		jitterStrategy: firstNames(table(backoff, '`jitterStrategy`')),
		stop: firstNames(table(explain, '`stop`')),
		'fields of all events': firstNames(table(events, 'field of all events')),
		'fields of gRPC events': firstNames(table(events, 'field of gRPC events')),
		'error facts': firstNames(table(events, 'error fact')),
		'reason of rejected': firstNames(table(events, '`reason` of `rejected`')),
		explanation: namedIn(explain, /^The object has.*?(?= \(`backoff`)/ms),
		'beyond HttpOptions': namedIn(http, /^Both also take.*?\n\n/ms),
		'stats of the client': named(stats?.[1] ?? ''),
		'reason of relay_released': named(released?.[2] ?? '').slice(1),
		'breaker of a relay': namedIn(outbox, /^`circuitBreaker` takes.*?, as for/ms).slice(1),
		'retry of a relay': namedIn(relay, /^`retry` takes.*?A message/ms).slice(1),
		'message of a handler': namedIn(relay, /The message has.*?\n\n/s),
		'changes of a dead letter': namedIn(dead, /^It changes .*?, validated/ms),
		stoppedBy: firstNames(table(dead, '`stoppedBy`')),
		cause: firstNames(table(dead, 'cause')),
		'codes of errors': indexed('Error codes'),
		'entries of problems': indexed('Problem codes'),
		'entries of stop': indexed('Stop reasons'),
		'entries of findings': indexed('Findings of lint'),
		'findings of lint': firstNames(table(guide('lint'), '`code`', 'problem')),
		'reason of BulkheadRejectedError': namedIn(explain, /^`bulkhead-full`.*$/m),
		'reason of WebhookVerificationError': firstNames(table(guide('verify-webhooks'), '`reason`')),
		'reason of WebhookUrlError': firstNames(table(webhooks, '`reason` of a URL')),
		disabledReason: firstNames(table(webhooks, '`disabledReason`')),
		'methods of webhooks': firstNames(table(webhooks, 'method of webhooks')),
		'methods of endpoints': firstNames(table(webhooks, 'method of endpoints')),
		'events of an outbox': firstNames(table(outbox, '`type`', 'when', 'fields')),
		'outcome of an attempt': firstNames(table(guide('attempt-log'), '`outcome`', 'the attempt')),
		'field of an attempt': firstNames(table(guide('attempt-log'), 'field')),
		'problems of idempotency': table(guide('idempotency-reference'), 'the request').flatMap(
			([, , code = '']) => named(code),
		),
		'checks of the outbox': firstNames(table(outbox, 'check', 'fails if')),
		measures: firstNames(table(guide('simulator'), 'measure')),
	}
}

const namedIn = ({ path, text }: Page, passage: RegExp): readonly string[] => {
	const found = passage.exec(text)?.[0]
	if (found === undefined) throw new Error(`${path} has no passage ${passage}`)
	return named(found)
}

const HEAD = `
import type { Fault } from 'yaoki/sim'
import type { EventFields, Events, Facts, Options } from '../../test/examples/types.ts'
type Difference<Code, Docs> = { undocumented: Exclude<Code, Docs>; unknown: Exclude<Docs, Code> }
type None = { undocumented: never; unknown: never }
`

/** One line for each table or sentence; the compiler prints the names that differ. */
export function documentedTypes(): string {
	const options = Object.keys(optionTables).map((key) => {
		const [path = '', header = ''] = key.split(': ')
		// Several pages have a table of calls and one of options, and only the second has defaults.
		const columns = header === 'option' ? [header, 'default'] : [header]
		return compare(`Options['${key}']`, firstNames(table(guide(path), ...columns)))
	})
	const facts = Object.entries(documentedFacts()).map(([key, names]) => compare(`Facts['${key}']`, names))
	const faults = table(guide('simulator'), '`kind`', 'what happens')
	return [
		HEAD,
		...options,
		...facts,
		...compareEvents('policy', table(guide('events'), '`type`')),
		...compareEvents('relay', table(guide('outbox-reference'), '`type`', 'when', 'its own fields')),
		...compareEvents('idempotency', table(guide('idempotency-reference'), '`type`', 'when')),
		...compareEvents('inbox', table(guide('inbox'), '`type`', 'when')),
		...compareEvents('webhooks', table(guide('webhooks-reference'), '`type`', 'when', 'its own fields')),
		...compareEvents('fault', faults),
		...faults.map(
			([kind = '', , , example = '']) =>
				`;(${named(example)[0]}) satisfies Fault & { kind: '${named(kind)[0]}' }`,
		),
		'',
	].join('\n')
}

/** The types of events, and the fields that belong to one type only. */
function compareEvents(source: keyof Events & keyof EventFields<string>, rows: Rows): readonly string[] {
	const types = rows.flatMap(([cell = '']) => named(cell))
	const fields = rows.flatMap(([cell = '', , own = '']) =>
		named(cell).map((type) => compare(`EventFields<'${type}'>['${source}']`, named(own.replace(/: .*/, '')))),
	)
	return [compare(`Events['${source}']`, types), ...fields]
}

function compare(type: string, documented: readonly string[]): string {
	const union = documented.map((name) => JSON.stringify(name)).join(' | ') || 'never'
	return `;(difference: Difference<${type}, ${union}>): None => difference // ${type}`
}
