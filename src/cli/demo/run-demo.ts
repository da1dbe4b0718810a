/** The demo from its first file to the last: whatever happens in between, nothing is left of it, neither a process nor a table. */

import { InvalidOptionError } from '../../core/errors/errors.ts'
import type { ExitKind } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { toCliError } from '../outbox/database-errors.ts'
import { type PostgresTarget, resolveTarget } from '../outbox/database-target.ts'
import { ledgerText } from './ledger.ts'
import { planOf } from './plan.ts'
import { Play } from './play.ts'
import { Receiver } from './receiver.ts'
import { Screen } from './screen.ts'
import type { Shop } from './shop.ts'

export interface AskedDemo {
	readonly seconds: number
	readonly database: string | undefined
}

export async function runDemo({ seconds, database }: AskedDemo, io: CommandIo): Promise<ExitKind> {
	const target = serverOf(database, io.env)
	try {
		const shop = await openShop(target)
		const receiver = new Receiver(io.runtime)
		const screen = new Screen(io, isWatched(io))
		const play = new Play({ shop, receiver, screen, plan: planOf(seconds), runtime: io.runtime })
		// What the frame says of a Ctrl-C stands below the counts.
		const forget = () => screen.forget()
		io.signal.addEventListener('abort', forget)
		const ended = endedBySystem()
		try {
			io.note(
				`Orders are written to ${shop.name}, and two relays bring them to a receiver that fails on purpose.`,
			)
			const ledger = await play.toItsEnd(AbortSignal.any([io.signal, ended.signal]))
			screen.end()
			io.result(ledger, () => ledgerText(ledger, io))
			return ledger.balances ? 'ok' : 'checkFailed'
		} finally {
			io.signal.removeEventListener('abort', forget)
			screen.end()
			await play.clear()
			await receiver.close()
			await shop.remove()
			ended.forget()
		}
	} catch (error) {
		throw target ? toCliError(error, target) : error
	}
}

/** A supervisor's SIGTERM, or a window that is closed: as with Ctrl-C nothing is to be left behind. Each is heard once. */
function endedBySystem(): { readonly signal: AbortSignal; forget(): void } {
	const stop = new AbortController()
	const end = () => stop.abort()
	const signals = ['SIGTERM', 'SIGHUP'] as const
	for (const name of signals) process.once(name, end)
	return {
		signal: stop.signal,
		forget() {
			for (const name of signals) process.off(name, end)
		},
	}
}

/** The server that was asked for. A DATABASE_URL of another kind is not meant for a demo, which makes a file of its own. */
function serverOf(database: string | undefined, env: CommandIo['env']): PostgresTarget | undefined {
	const url = database ?? env['DATABASE_URL'] ?? ''
	if (/^postgres(ql)?:/i.test(url)) {
		const target = resolveTarget({ database, schema: undefined }, env)
		if (target.kind === 'postgres') return target
	}
	if (database === undefined) return undefined
	throw new InvalidOptionError(
		'--database',
		database.replace(/(?<=^[a-z\d+.-]+:).*/is, '...'),
		'postgres://...; without it a SQLite file is made, and removed at the end',
	)
}

/** Each is loaded only when it is needed: one needs a driver, the other a Node that has SQLite. */
async function openShop(target: PostgresTarget | undefined): Promise<Shop> {
	if (!target) {
		const { sqliteShop } = await import('./sqlite-shop.ts')
		return sqliteShop()
	}
	const { postgresShop } = await import('./postgres-shop.ts')
	return postgresShop(target)
}

const isWatched = ({ isTTY, env }: CommandIo): boolean =>
	isTTY && process.stderr.isTTY === true && env['TERM'] !== 'dumb'
