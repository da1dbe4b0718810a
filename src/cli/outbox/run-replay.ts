/** The work of `yaoki outbox replay`. */
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { figure } from '../../sim/picture/figure.ts'
import { CliError, failureOf } from '../errors.ts'
import type { ExitKind } from '../exit-codes.ts'
import type { CommandIo } from '../io.ts'
import { checkChosen } from './chosen.ts'
import { type AskedFilter, filterOf } from './filter-options.ts'
import { withOutbox } from './open.ts'
import type { AskedDatabase } from './target.ts'
import { readDuration } from './times.ts'

export interface AskedReplay extends AskedDatabase, AskedFilter {
	readonly ids: readonly string[]
	readonly all: boolean
	readonly canary: boolean
	readonly timeout: string
	readonly payload: string | undefined
}

export async function runReplay(asked: AskedReplay, io: CommandIo): Promise<ExitKind> {
	const { ids, all, canary, payload: file } = asked
	const filter = filterOf(asked, io.runtime.wallNow())
	const timeoutMs = readDuration('--timeout', asked.timeout)
	// Read before anything is opened: a wrong file must not wait for a database.
	const payload = file === undefined ? undefined : await jsonOf(file)
	return withOutbox(asked, io, async ({ outbox }) => {
		await checkChosen(outbox, ids, 'dead')
		const [id] = ids
		if (payload !== undefined && id !== undefined) {
			const replayed = Number(await outbox.dead.edit(id, { payload: payload.value }))
			io.answer(
				{ replayed, stopped: false },
				replayed === 1 ? `${id} was changed, and is due now` : `${id} is gone`,
			)
			return replayed === 1 ? 'ok' : 'notFound'
		}
		const report = await outbox.dead.replay(filter, { all, canary, timeoutMs, signal: io.signal })
		const { replayed, stoppedBy, reason } = report
		const count = `${figure(replayed)} dead ${replayed === 1 ? 'letter was' : 'letters were'} replayed`
		io.answer(report, reason === undefined ? count : `${count}, then it stopped: ${reason}`)
		return stoppedBy === undefined || stoppedBy === 'aborted' ? 'ok' : 'checkFailed'
	})
}

/** What is in a file, or comes in by standard input. */
async function jsonOf(file: string): Promise<{ readonly value: unknown }> {
	const [name, json] =
		file === '-'
			? (['standard input', await text(process.stdin)] as const)
			: ([file, await contentOf(file)] as const)
	try {
		return { value: JSON.parse(json.replace(/^\uFEFF/, '')) }
	} catch (cause) {
		throw new CliError('usage', `${name}: is no JSON: ${failureOf(cause).message}`, { cause })
	}
}

async function contentOf(file: string): Promise<string> {
	try {
		return await readFile(file, 'utf8')
	} catch (cause) {
		const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
		const message = isMissing ? `there is no file '${file}'` : `${file}: ${failureOf(cause).message}`
		throw new CliError(isMissing ? 'notFound' : 'failure', message, { cause })
	}
}
