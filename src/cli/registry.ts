/** All commands of `yaoki`. A line here loads nothing; it says where the command is. */
import type { Program } from './program.ts'
import { packageVersion } from './version.ts'

export const yaoki: Program = {
	name: 'yaoki',
	summary: 'Everything that happens after a call fails, from the command line.',
	examples: [
		{
			run: 'yaoki simulate metastable --out metastable.svg',
			shows: 'does it survive an outage? Try it in virtual time, and draw it',
		},
		{ run: 'yaoki demo', shows: 'an outbox at work: failures, an outage, a kill, and nothing lost' },
		{ run: 'yaoki outbox status', shows: 'what is due, waits, is in flight, is dead' },
		{ run: 'yaoki help simulate', shows: 'what a command takes, with examples' },
	],
	commands: [
		{
			name: 'simulate',
			summary: 'runs policies against modelled services in virtual time',
			load: () => import('./simulate/command.ts'),
		},
		{
			name: 'outbox migrate',
			summary: "makes the outbox's tables, or brings them up to date",
			load: () => import('./outbox/migrate.ts'),
		},
		{
			name: 'outbox sql',
			summary: "prints the numbered migrations of the outbox's tables",
			load: () => import('./outbox/sql.ts'),
		},
		{
			name: 'outbox status',
			summary: 'shows how the outbox is doing: what is due, waits, is in flight, is dead',
			load: () => import('./outbox/status.ts'),
		},
		{
			name: 'outbox list',
			summary: 'lists messages, or groups dead letters by what they died of',
			load: () => import('./outbox/list.ts'),
		},
		{
			name: 'outbox show',
			summary: 'shows all that is known about one message',
			load: () => import('./outbox/show.ts'),
		},
		{
			name: 'outbox why',
			summary: 'says in one sentence why a message has not been delivered yet',
			load: () => import('./outbox/why.ts'),
		},
		{
			name: 'outbox retry',
			summary: 'makes messages that wait for a retry due now',
			load: () => import('./outbox/retry.ts'),
		},
		{
			name: 'outbox replay',
			summary: 'puts dead letters back into the queue',
			load: () => import('./outbox/replay.ts'),
		},
		{
			name: 'outbox discard',
			summary: 'takes dead letters away for good',
			load: () => import('./outbox/discard.ts'),
		},
		{
			name: 'outbox check',
			summary: 'checks that all is well; the exit code is 4 if it is not',
			load: () => import('./outbox/check.ts'),
		},
		{
			name: 'relay',
			summary: 'sends the messages of an outbox to a URL, until it is stopped',
			load: () => import('./relay/command.ts'),
		},
		{
			name: 'demo',
			summary: 'shows an outbox at work: failures, an outage and a kill, and nothing lost',
			load: () => import('./demo/command.ts'),
		},
	],
	version: packageVersion,
}
