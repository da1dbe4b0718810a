/** All commands of `yaoki`, with the modules to load them from. */
import { readFileSync } from 'node:fs'
import type { Command, CommandEntry, Program } from './command.ts'

const entry = <Key extends string>(
	name: string,
	summary: string,
	module: () => Promise<Readonly<Record<Key, Command>>>,
	key: Key,
): CommandEntry => ({ name, summary, load: async () => (await module())[key] })

const simulate = () => import('./simulate/command.ts')
const schedule = () => import('./schedule/command.ts')
const lint = () => import('./lint/command.ts')
const inspect = () => import('./outbox/inspect-commands.ts')
const replay = () => import('./outbox/replay-command.ts')
const requeue = () => import('./outbox/requeue-commands.ts')
const schema = () => import('./schema/commands.ts')
const health = () => import('./outbox/check-command.ts')
const pausing = () => import('./outbox/pause-commands.ts')
const audit = () => import('./outbox/audit-command.ts')
const relay = () => import('./relay/command.ts')
const inbox = () => import('./inbox/commands.ts')
const webhooks = () => import('./webhooks/inspect-commands.ts')
const webhookChanges = () => import('./webhooks/change-commands.ts')
const webhookDeliveries = () => import('./webhooks/delivery-commands.ts')
const keys = () => import('./idempotency/key-commands.ts')
const dashboard = () => import('./dashboard/command.ts')
const top = () => import('./top/command.ts')
const demo = () => import('./demo/command.ts')
const gen = () => import('./gen/commands.ts')
const completion = async () => ({ completion: (await import('./completion/command.ts')).completionOf(yaoki) })

export const yaoki: Program = {
	name: 'yaoki',
	summary: 'Simulate policies, operate an outbox, webhooks, inboxes and idempotency keys.',
	examples: [
		['yaoki simulate metastable --out metastable.svg', 'which policies recover from a slowdown, as a chart'],
		['yaoki schedule --preset background', 'the delays of a retry policy'],
		['yaoki lint src/policies.ts', 'probable mistakes in your policies'],
		['yaoki demo', 'an outbox with failures, an outage and a killed relay'],
		['yaoki outbox status', 'count due, scheduled, in-flight and dead messages'],
		['yaoki dashboard', 'the same as a web page, with replay, pause and resume'],
		['yaoki top http://127.0.0.1:3000/ops/retries', 'what fails in a running program'],
		['yaoki idempotency purge', 'delete expired idempotency keys'],
		['yaoki gen grafana > yaoki.json', 'a Grafana dashboard of the metrics'],
		['yaoki help simulate', 'options and examples of a command'],
	],
	commands: [
		entry('simulate', 'run policies against modelled services in virtual time', simulate, 'simulate'),
		entry('schedule', 'show the delays of a retry policy', schedule, 'schedule'),
		entry('lint', 'find probable mistakes in the policies of a file', lint, 'lint'),
		entry('outbox migrate', 'create or update the outbox tables', schema, 'outboxMigrate'),
		entry('outbox sql', 'print the migrations of the outbox tables', schema, 'outboxSql'),
		entry('outbox status', 'show counts of due, scheduled, in-flight and dead messages', inspect, 'status'),
		entry('outbox list', 'list messages, or group dead letters by cause', inspect, 'list'),
		entry('outbox show', 'show one message in full', inspect, 'show'),
		entry('outbox why', 'explain why a message is not delivered yet', inspect, 'why'),
		entry('outbox retry', 'make messages that wait for a retry due immediately', requeue, 'retry'),
		entry('outbox expire', 'end queued messages: they become dead letters', requeue, 'expire'),
		entry('outbox resend', 'deliver a sent message again, from the history', requeue, 'resend'),
		entry('outbox replay', 'put dead letters back into the queue', replay, 'replay'),
		entry('outbox discard', 'permanently delete dead letters', requeue, 'discard'),
		entry('outbox pause', 'pause a destination until it is resumed, or for a time', pausing, 'pause'),
		entry('outbox resume', 'end the pause of a destination, or close its circuit', pausing, 'resume'),
		entry(
			'outbox audit',
			'list what operators did: replays, edits, discards, resends, expired messages, pauses',
			audit,
			'audit',
		),
		entry('outbox check', 'check the health of the outbox; exit code 4 if a check fails', health, 'check'),
		entry('relay', 'send the messages of an outbox to a URL until stopped', relay, 'relay'),
		entry('webhooks list', 'list endpoints of webhooks: state, failures, URL, topics', webhooks, 'list'),
		entry('webhooks show', 'show one endpoint, and how many messages it has', webhooks, 'show'),
		entry('webhooks create', 'create an endpoint, which gets events from now on', webhookChanges, 'create'),
		entry('webhooks update', 'change URL, topics or description', webhookChanges, 'update'),
		entry('webhooks rotate', 'replace the secret; both sign for a time', webhookChanges, 'rotate'),
		entry('webhooks disable', 'stop sending to an endpoint', webhookChanges, 'disable'),
		entry('webhooks enable', 'send to an endpoint again', webhookChanges, 'enable'),
		entry('webhooks delete', 'delete an endpoint', webhookChanges, 'deleteEndpoint'),
		entry('webhooks test', 'send a test message to an endpoint', webhookDeliveries, 'test'),
		entry('webhooks resend', 'deliver messages of an endpoint again', webhookDeliveries, 'resend'),
		entry('webhooks replay', 'send events of the past to an endpoint', webhookDeliveries, 'replay'),
		entry('inbox migrate', 'create or update the tables of inboxes', schema, 'inboxMigrate'),
		entry('inbox sql', 'print the migrations of the tables of inboxes', schema, 'inboxSql'),
		entry('inbox status', 'show how many messages each inbox remembers', inbox, 'status'),
		entry('inbox show', 'show when a message was processed', inbox, 'show'),
		entry('inbox forget', 'forget a message, so that its next delivery is processed', inbox, 'forget'),
		entry('inbox purge', 'delete the marks whose retention is over', inbox, 'purge'),
		entry(
			'idempotency migrate',
			'create or update the table of idempotency keys',
			schema,
			'idempotencyMigrate',
		),
		entry(
			'idempotency sql',
			'print the migrations of the table of idempotency keys',
			schema,
			'idempotencySql',
		),
		entry('idempotency purge', 'delete expired idempotency keys', keys, 'purge'),
		entry('idempotency show', 'show what is stored for an idempotency key', keys, 'show'),
		entry('idempotency resolve', 'decide what happens to a key whose request crashed', keys, 'resolve'),
		entry('idempotency delete', 'forget a key, so that its next request runs', keys, 'deleteKey'),
		entry('gen grafana', 'print a Grafana dashboard of the metrics', gen, 'grafana'),
		entry('gen alerts', 'print Prometheus alert rules for the metrics', gen, 'alerts'),
		entry('gen service-monitor', 'print a ServiceMonitor for the Prometheus Operator', gen, 'serviceMonitor'),
		entry('completion', 'print a completion script for bash, zsh or fish', completion, 'completion'),
		entry('dashboard', 'serve a web page of what a database knows, on this machine', dashboard, 'dashboard'),
		entry('top', 'show what fails, live: of a mounted dashboard or of a database', top, 'top'),
		entry('demo', 'run an outbox through failures, an outage and a killed relay', demo, 'demo'),
	],
	version: packageVersion,
}

/** Reads package.json on demand. src/cli and dist/cli have the same depth. */
function packageVersion(): string {
	const { version }: { version?: unknown } = JSON.parse(
		readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
	)
	return String(version)
}
