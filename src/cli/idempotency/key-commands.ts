/**
 * `idempotency show` prints what is stored for a key; `idempotency resolve` decides about a key whose request
 * ended without a response; `idempotency delete` forgets a key; `idempotency purge` deletes expired keys. A key belongs to an engine, a principal, a method and a route. Only their hash is stored,
 * so keys cannot be listed.
 */
import { readFile } from 'node:fs/promises'
import { identityHash } from '../../idempotency/key/identity.ts'
import { parseKey } from '../../idempotency/key/parse-key.ts'
import type { StoredKey, StoredResponse } from '../../idempotency/store/store.ts'
import { formatCount, formatDuration } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { formatPairs } from '../../text/table.ts'
import { type Command, defineCommand } from '../command.ts'
import { IDEMPOTENCY_DATABASE_OPTIONS } from '../database/database-target.ts'
import { purgeAll } from '../database/purge-all.ts'
import { CliError, usageError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { type Arguments, flag, integer, text } from '../option-tables.ts'
import { parseDuration, relativeTo } from '../outbox/parse-time.ts'
import { fileError } from '../user-files.ts'
import { withStore } from './open-store.ts'

const KEY_OPTIONS = {
	...IDEMPOTENCY_DATABASE_OPTIONS,
	name: text('NAME', 'option "name" of the engine; required', { short: 'n' }),
	principal: text('ID', 'what the option "principal" of the engine returned; required', { short: 'p' }),
	method: text('METHOD', 'method of the request', { short: 'm', default: 'POST' }),
	route: text('PATH', 'path of the request, or what the option "route" returned; required', { short: 'r' }),
}

const KEY = { key: { placeholder: 'KEY', description: 'value of the Idempotency-Key header' } } as const

/** Arguments of a key, for the examples of commands. */
const EXAMPLE_KEY = '8e03978e-40d5 -n payments -p user-7 -r /charges'

/** The longest key that the engine can be configured for. */
const MAX_KEY_LENGTH = 8_192

/** Returns the id of the key in the store. Neither key nor principal are repeated in messages. */
async function keyId(args: Arguments<typeof KEY_OPTIONS, typeof KEY>): Promise<string> {
	const { key, name, principal, method, route } = args
	const parsed = parseKey(key, MAX_KEY_LENGTH)
	if (parsed.kind === 'malformed') throw usageError(`KEY is invalid: ${parsed.detail}`)
	if (parsed.kind === 'missing') throw usageError('KEY is empty.')
	if (name === undefined || name === '') throw usageError('--name is required.')
	if (principal === undefined || principal === '') throw usageError('--principal is required.')
	if (route === undefined || route === '') throw usageError('--route is required.')
	return identityHash(name, { principal, method: method.toUpperCase(), route, key: parsed.key })
}

const unknownKey = (): CliError =>
	new CliError('notFound', 'Nothing is stored for this name, key, principal, method and route.', {
		hint: 'Check all five. A key is deleted when its retention is over, and when its request failed without stored steps.',
	})

export const show: Command = defineCommand({
	examples: [
		[
			'yaoki idempotency show 8e03978e-40d5 --name payments --principal user-7 --route /charges',
			'running, completed or abandoned',
		],
		[
			'yaoki idempotency show 8e03978e-40d5 -n payments -p user-7 -m PATCH -r /orders/1 --json',
			'for a program',
		],
	],
	options: KEY_OPTIONS,
	positionals: KEY,
	async run(args, io) {
		const id = await keyId(args)
		return withStore(args, io, async (store) => {
			const found = await store.find(id)
			if (!found) throw unknownKey()
			io.result({ id, ...found, isAbandoned: isAbandoned(found) }, () => renderKey(found, io))
		})
	},
})

/** Its lease has ended, and no request has taken it over. */
const isAbandoned = ({ leaseLeftMs }: StoredKey): boolean => leaseLeftMs !== null && leaseLeftMs <= 0

function renderKey(key: StoredKey, { runtime, columns }: CommandIo): string {
	const when = (ms: number) => {
		const moment = new Date(ms)
		return `${moment.toISOString()} (${relativeTo(runtime.wallNow(), moment)})`
	}
	const { completedAt, status, bodyBytes, steps } = key
	const pairs: readonly (readonly [string, string | undefined])[] = [
		['state', describeState(key)],
		['created', when(key.createdAt)],
		['completed', completedAt === null ? undefined : when(completedAt)],
		['expires', when(key.expiresAt)],
		['status', status === null ? undefined : String(status)],
		['body', bodyBytes === null ? undefined : formatCount(bodyBytes, 'byte')],
		['steps', steps.length === 0 ? undefined : steps.join(', ')],
	]
	const shown = pairs.flatMap(([name, value]) =>
		value === undefined ? [] : [[name, sanitizeLine(value)] as const],
	)
	return formatPairs(shown, columns).join('\n')
}

function describeState(key: StoredKey): string {
	const { state, leaseLeftMs } = key
	if (state === 'unstored') return 'completed, without a stored response'
	if (state === 'released') return 'released: its request failed, and the next one runs with the stored steps'
	if (leaseLeftMs === null) return state
	return isAbandoned(key)
		? `abandoned: its lease ended ${formatDuration(-leaseLeftMs)} ago without a response`
		: `running, lease ends in ${formatDuration(leaseLeftMs)}`
}

export const resolve: Command = defineCommand({
	examples: [
		[`yaoki idempotency resolve ${EXAMPLE_KEY} --rerun`, 'nothing happened: the next request may run'],
		[
			`yaoki idempotency resolve ${EXAMPLE_KEY} --status 201 --body-file charge.json`,
			'the charge exists: repeated requests get this response',
		],
	],
	options: {
		...KEY_OPTIONS,
		rerun: flag('let the next request run, with the stored steps'),
		status: integer('N', 'status of the response that repeated requests get', { min: 200, max: 599 }),
		bodyFile: text('FILE', 'its body; default: empty'),
		contentType: text('TYPE', 'its content type', { default: 'application/json' }),
		retention: text('DURATION', 'how long the response is kept', { default: '1d' }),
	},
	positionals: KEY,
	async run(args, io) {
		const { rerun, status, bodyFile } = args
		if (rerun === (status !== undefined))
			throw usageError('Give either --rerun or --status.', {
				hint: 'Find out first whether the request had its effect: the engine cannot know.',
			})
		if (rerun && bodyFile !== undefined) throw usageError('--body-file requires --status.')
		const retentionMs = parseDuration('--retention', args.retention, 1)
		const id = await keyId(args)
		const response = status === undefined ? undefined : await toResponse(status, args)
		return withStore(args, io, async (store) => {
			const isResolved = await store.resolve(id, response, retentionMs)
			if (!isResolved) throw notAbandoned(await store.find(id))
			const text =
				status === undefined
					? 'The next request with this key runs.'
					: `Repeated requests with this key get ${status}.`
			io.result({ id, decision: status === undefined ? 'rerun' : 'response', status: status ?? null }, text)
		})
	},
})

export const deleteKey: Command = defineCommand({
	examples: [
		[`yaoki idempotency delete ${EXAMPLE_KEY}`, 'what would be deleted; exit code 2'],
		[`yaoki idempotency delete ${EXAMPLE_KEY} --yes`, 'delete it: the next request runs like a first one'],
	],
	options: {
		...KEY_OPTIONS,
		yes: flag('delete it; without it only its state is printed, with exit code 2', 'y'),
		force: flag('also if its request runs: nothing of that request is stored then'),
	},
	positionals: KEY,
	async run(args, io) {
		const { yes, force } = args
		const id = await keyId(args)
		return withStore(args, io, async (store) => {
			const found = await store.find(id)
			if (!found) throw unknownKey()
			if (!yes)
				throw usageError(`This would delete a key that is ${describeState(found)}.`, {
					hint: 'Its next request runs like a first one, so its effects may happen again. Add --yes to confirm.',
				})
			if (!(await store.delete(id, force))) {
				const latest = await store.find(id)
				if (!latest) throw unknownKey()
				throw new CliError('failure', `The key is ${describeState(latest)}. It was not deleted.`, {
					hint: 'Wait until its request has ended, or add --force: nothing of that request is stored then.',
				})
			}
			io.result({ id, deleted: true, state: found.state }, `Deleted a key that was ${describeState(found)}.`)
		})
	},
})

/** A header value that can be sent. */
const HEADER_VALUE = /^[\t\x20-\x7e]+$/

async function toResponse(
	status: number,
	{ bodyFile, contentType }: { readonly bodyFile: string | undefined; readonly contentType: string },
): Promise<StoredResponse> {
	if (!HEADER_VALUE.test(contentType))
		throw usageError('--content-type must be a media type such as application/json.')
	if (bodyFile === undefined) return { status, headers: [], body: new Uint8Array(0) }
	const body = await readFile(bodyFile).catch((error: unknown) => {
		throw fileError(bodyFile, error)
	})
	return { status, headers: [['content-type', contentType]], body }
}

function notAbandoned(key: StoredKey | undefined): CliError {
	if (!key) return unknownKey()
	return new CliError('notFound', `The key is ${describeState(key)}. Only an abandoned key can be resolved.`)
}

export const purge: Command = defineCommand({
	examples: [
		['yaoki idempotency purge', 'for a cron job: delete expired keys'],
		['yaoki idempotency purge --batch-size 100', 'with shorter transactions'],
	],
	options: {
		...IDEMPOTENCY_DATABASE_OPTIONS,
		batchSize: integer('N', 'keys that one statement deletes', { min: 1, max: 100_000, default: 1_000 }),
	},
	async run(args, io) {
		return withStore(args, io, async (store, target) => {
			if (target.kind === 'redis') {
				io.result({ purged: 0, isComplete: true }, 'Redis deletes expired keys by itself.')
				return
			}
			await purgeAll(io, 'key', args.batchSize, (limit) => store.purge(limit))
		})
	},
})
