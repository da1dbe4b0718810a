/**
 * `idempotency show` prints what is stored for a key; `idempotency resolve` decides about one whose request ended without a response;
 * `idempotency delete` forgets one.
 */
import { readFile } from 'node:fs/promises'
import type { StoredKey, StoredResponse } from '../../idempotency/store/store.ts'
import { formatCount, formatDuration } from '../../text/format.ts'
import { sanitizeLine } from '../../text/sanitize.ts'
import { formatPairs } from '../../text/table.ts'
import { type Command, defineCommand } from '../command.ts'
import { CliError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { flag, integer, text } from '../option-tables.ts'
import { parseDuration, relativeTo } from '../outbox/parse-time.ts'
import { fileError } from '../user-files.ts'
import { KEY, KEY_OPTIONS, keyId, unknownKey } from './key-arguments.ts'

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
		const { withStore } = await import('./open-store.ts')
		return withStore(args, io, async (store) => {
			const found = await store.find(id)
			if (!found) throw unknownKey()
			io.result({ id, ...found, isAbandoned: isAbandoned(found) }, () => renderKey(found, io))
			return 'ok' as const
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
		[
			'yaoki idempotency resolve 8e03978e-40d5 -n payments -p user-7 -r /charges --rerun',
			'nothing happened: the next request may run',
		],
		[
			'yaoki idempotency resolve 8e03978e-40d5 -n payments -p user-7 -r /charges --status 201 --body-file charge.json',
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
			throw new CliError('usage', 'Give either --rerun or --status.', {
				hint: 'Find out first whether the request had its effect: the engine cannot know.',
			})
		if (rerun && bodyFile !== undefined) throw new CliError('usage', '--body-file requires --status.')
		const retentionMs = parseDuration('--retention', args.retention, 1)
		const id = await keyId(args)
		const response = status === undefined ? undefined : await toResponse(status, args)
		const { withStore } = await import('./open-store.ts')
		return withStore(args, io, async (store) => {
			const isResolved = await store.resolve(id, response, retentionMs)
			if (!isResolved) throw notAbandoned(await store.find(id))
			const text =
				status === undefined
					? 'The next request with this key runs.'
					: `Repeated requests with this key get ${status}.`
			io.result({ id, decision: status === undefined ? 'rerun' : 'response', status: status ?? null }, text)
			return 'ok' as const
		})
	},
})

export const deleteKey: Command = defineCommand({
	examples: [
		[
			'yaoki idempotency delete 8e03978e-40d5 -n payments -p user-7 -r /charges',
			'what would be deleted; exit code 2',
		],
		[
			'yaoki idempotency delete 8e03978e-40d5 -n payments -p user-7 -r /charges --yes',
			'delete it: the next request runs like a first one',
		],
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
		const { withStore } = await import('./open-store.ts')
		return withStore(args, io, async (store) => {
			const found = await store.find(id)
			if (!found) throw unknownKey()
			if (!yes)
				throw new CliError('usage', `This would delete a key that is ${describeState(found)}.`, {
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
			return 'ok' as const
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
		throw new CliError('usage', '--content-type must be a media type such as application/json.')
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
