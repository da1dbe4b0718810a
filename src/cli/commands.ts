/** All commands of `yaoki`, with the modules to load them from. */
import { readFileSync } from 'node:fs'
import type { Command } from './command.ts'
import type { CommandEntry, Program } from './find-command.ts'

const entry = (name: string, summary: string, load: () => Promise<Command>): CommandEntry => ({
	name,
	summary,
	load,
})

const inspect = () => import('./outbox/inspect-commands.ts')
const requeue = () => import('./outbox/requeue-commands.ts')
const schema = () => import('./outbox/schema-commands.ts')

export const yaoki: Program = {
	name: 'yaoki',
	summary: 'Simulate resilience policies, and operate a transactional outbox.',
	examples: [
		{
			command: 'yaoki simulate metastable --out metastable.svg',
			description: 'which policies recover from an outage? Simulate and draw it',
		},
		{ command: 'yaoki demo', description: 'an outbox with failures, an outage and a killed relay' },
		{ command: 'yaoki outbox status', description: 'count due, scheduled, in-flight and dead messages' },
		{ command: 'yaoki help simulate', description: 'options and examples of a command' },
	],
	commands: [
		entry(
			'simulate',
			'run policies against modelled services in virtual time',
			async () => (await import('./simulate/command.ts')).simulate,
		),
		entry('outbox migrate', 'create or update the outbox tables', async () => (await schema()).migrate),
		entry('outbox sql', 'print the migrations of the outbox tables', async () => (await schema()).sql),
		entry(
			'outbox status',
			'show counts of due, scheduled, in-flight and dead messages',
			async () => (await inspect()).status,
		),
		entry('outbox list', 'list messages, or group dead letters by cause', async () => (await inspect()).list),
		entry('outbox show', 'show one message in full', async () => (await inspect()).show),
		entry('outbox why', 'explain why a message is not delivered yet', async () => (await inspect()).why),
		entry(
			'outbox retry',
			'make messages that wait for a retry due immediately',
			async () => (await requeue()).retry,
		),
		entry('outbox replay', 'put dead letters back into the queue', async () => (await requeue()).replay),
		entry('outbox discard', 'permanently delete dead letters', async () => (await requeue()).discard),
		entry(
			'outbox check',
			'check the health of the outbox; exit code 4 if a check fails',
			async () => (await import('./outbox/check-command.ts')).check,
		),
		entry(
			'relay',
			'send the messages of an outbox to a URL until stopped',
			async () => (await import('./relay/command.ts')).relay,
		),
		entry(
			'demo',
			'run an outbox through failures, an outage and a killed relay',
			async () => (await import('./demo/command.ts')).demo,
		),
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
