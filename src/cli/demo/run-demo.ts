/** Sets up the demo and removes every process, file and table that it created, however it ends. */
import { InvalidOptionError } from '../../core/errors/errors.ts'
import { dashboard } from '../../dashboard/index.ts'
import type { CommandResult } from '../command.ts'
import { type ServedDashboard, serveDashboard } from '../dashboard/serve.ts'
import { toCliError } from '../database/database-errors.ts'
import { type PostgresTarget, resolveTarget } from '../database/database-target.ts'
import type { CommandIo } from '../io.ts'
import { Demo } from './demo.ts'
import { renderLedger } from './ledger.ts'
import { LiveStatus } from './live-status.ts'
import { Receiver } from './receiver.ts'
import { createSchedule } from './schedule.ts'
import type { Shop } from './shop.ts'
import { StockCalls } from './stock-calls.ts'

/** A supervisor and a closed window clean up like Ctrl-C. A second such signal ends the process. */
const TERMINATION = ['SIGTERM', 'SIGHUP'] as const

export async function runDemo(
	{ seconds, database }: { readonly seconds: number; readonly database: string | undefined },
	io: CommandIo,
): CommandResult {
	const { env, runtime } = io
	const target = resolvePostgres(database, env)
	try {
		const shop = await openShop(target)
		const receiver = new Receiver(runtime)
		const canRedraw = io.isTTY && process.stderr.isTTY === true && env['TERM'] !== 'dumb'
		const status = new LiveStatus(io, canRedraw)
		const schedule = createSchedule(seconds)
		const stock = new StockCalls(schedule, runtime)
		const demo = new Demo({ shop, receiver, status, stock, schedule, runtime })
		const page = dashboard({ observe: { stock: stock.policy, outbox: shop.outbox }, runtime })
		let served: ServedDashboard | undefined
		// The note about Ctrl-C is printed below the status and must not be overwritten.
		io.signal.addEventListener('abort', () => status.forget())
		const termination = new AbortController()
		const terminate = () => termination.abort()
		for (const name of TERMINATION) process.once(name, terminate)
		try {
			io.note(
				`Orders are written to ${shop.name}. Two relays deliver them to a receiver that fails on purpose.`,
			)
			served = await serveDashboard(page, 0)
			io.note(`Dashboard of this process and of the outbox, until the end of the demo: ${served.url}`)
			const ledger = await demo.run(AbortSignal.any([io.signal, termination.signal]))
			status.end()
			io.result(ledger, () => renderLedger(ledger, io))
			return ledger.balances ? 'ok' : 'checkFailed'
		} finally {
			status.end()
			await demo.close()
			await served?.close()
			await page.close()
			await receiver.close()
			await shop.remove()
			for (const name of TERMINATION) process.off(name, terminate)
		}
	} catch (error) {
		throw target ? toCliError(error, target) : error
	}
}

/** Returns the PostgreSQL database; undefined for SQLite, for which the demo creates its own file. */
function resolvePostgres(database: string | undefined, env: CommandIo['env']): PostgresTarget | undefined {
	const url = database ?? env['DATABASE_URL'] ?? ''
	if (/^postgres(ql)?:/i.test(url)) {
		const target = resolveTarget({ database, schema: undefined }, env)
		if (target.kind === 'postgres') return target
	}
	if (database === undefined) return undefined
	throw new InvalidOptionError(
		'--database',
		database.replace(/^([a-z\d+.-]+:).*/is, '$1...'),
		'postgres://... (without --database the demo uses a temporary SQLite file)',
	)
}

/** Loads one of two modules: one needs the driver, the other a Node with SQLite. */
async function openShop(target: PostgresTarget | undefined): Promise<Shop> {
	if (target) return (await import('./postgres-shop.ts')).postgresShop(target)
	return (await import('./sqlite-shop.ts')).sqliteShop()
}
