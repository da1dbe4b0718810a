/** Sets up the demo and removes every process, file and table that it created, however it ends. */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import type { ExitKind } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { toCliError } from '../outbox/database-errors.ts'
import { type PostgresTarget, resolveTarget } from '../outbox/database-target.ts'
import { Demo } from './demo.ts'
import { renderLedger } from './ledger.ts'
import { LiveStatus } from './live-status.ts'
import { Receiver } from './receiver.ts'
import { createSchedule } from './schedule.ts'
import type { Shop } from './shop.ts'

export interface DemoArguments {
	readonly seconds: number
	readonly database: string | undefined
}

export async function runDemo({ seconds, database }: DemoArguments, io: CommandIo): Promise<ExitKind> {
	const target = resolvePostgres(database, io.env)
	try {
		const shop = await openShop(target)
		const receiver = new Receiver(io.runtime)
		const status = new LiveStatus(io, canRedraw(io))
		const schedule = createSchedule(seconds)
		const demo = new Demo({ shop, receiver, status, schedule, runtime: io.runtime })
		// The note about Ctrl-C is printed below the status and must not be overwritten.
		const forget = () => status.forget()
		io.signal.addEventListener('abort', forget)
		const system = listenForTermination()
		try {
			io.note(
				`Orders are written to ${shop.name}. Two relays deliver them to a receiver that fails on purpose.`,
			)
			const ledger = await demo.run(AbortSignal.any([io.signal, system.signal]))
			status.end()
			io.result(ledger, () => renderLedger(ledger, io))
			return ledger.balances ? 'ok' : 'checkFailed'
		} finally {
			io.signal.removeEventListener('abort', forget)
			status.end()
			await demo.close()
			await receiver.close()
			await shop.remove()
			system.unlisten()
		}
	} catch (error) {
		throw target ? toCliError(error, target) : error
	}
}

/** SIGTERM from a supervisor and SIGHUP from a closed window clean up like Ctrl-C. A second one ends the process. */
function listenForTermination(): { readonly signal: AbortSignal; unlisten(): void } {
	const controller = new AbortController()
	const abort = () => controller.abort()
	const signals = ['SIGTERM', 'SIGHUP'] as const
	for (const name of signals) process.once(name, abort)
	return {
		signal: controller.signal,
		unlisten() {
			for (const name of signals) process.off(name, abort)
		},
	}
}

/** Returns the PostgreSQL database, or undefined for SQLite. A DATABASE_URL of another kind is ignored: the demo creates its own file. */
function resolvePostgres(database: string | undefined, env: CommandIo['env']): PostgresTarget | undefined {
	const url = database ?? env['DATABASE_URL'] ?? ''
	if (/^postgres(ql)?:/i.test(url)) {
		const target = resolveTarget({ database, schema: undefined }, env)
		if (target.kind === 'postgres') return target
	}
	if (database === undefined) return undefined
	throw new InvalidOptionError(
		'--database',
		database.replace(/(?<=^[a-z\d+.-]+:).*/is, '...'),
		'postgres://... (without --database the demo uses a temporary SQLite file)',
	)
}

/** Loads one of two modules: one needs the driver, the other a Node with SQLite. */
async function openShop(target: PostgresTarget | undefined): Promise<Shop> {
	if (!target) {
		const { sqliteShop } = await import('./sqlite-shop.ts')
		return sqliteShop()
	}
	const { postgresShop } = await import('./postgres-shop.ts')
	return postgresShop(target)
}

const canRedraw = ({ isTTY, env }: CommandIo): boolean =>
	isTTY && process.stderr.isTTY === true && env['TERM'] !== 'dumb'
