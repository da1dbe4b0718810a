/**
 * A sender, a relay and a receiver as processes of their own, each killed with SIGKILL at random moments and started again, while orders arrive.
 * Every order must have its effect at the receiver once.
 */
import { type ChildProcess, type ForkOptions, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { Inbox, Outbox, postgresInboxStore, postgresOutboxStore } from 'yaoki/outbox'
import { end, guard } from '../../guard/guard.ts'
import { startPostgres } from '../../support/real-postgres.ts'
import { stablePort } from '../../support/stable-port.ts'
import type { ProcessInput } from './process.ts'

export interface KillsResult {
	readonly orders: number
	/** Kills by process. */
	readonly kills: Readonly<Record<string, number>>
	readonly deliveries: number
	/** Orders without an effect. */
	readonly missing: readonly number[]
	/** Orders with more than one effect. */
	readonly repeated: readonly number[]
	readonly deadLetters: number
}

/** The files of the senders. */
export type Sender = 'sender-drizzle' | 'sender-prisma'

const LOWEST_VERSIONS = new URL('./lowest-versions.js', import.meta.url).href
const ORDERS_IN_FLIGHT = 8
const MAX_PAUSE_MS = 1_000

/** Kills processes until all orders are placed, and each process was killed at least `minKills` times. */
export async function runKills(sender: Sender, count: number, minKills: number): Promise<KillsResult> {
	await using server = await startPostgres()
	const { host, port, user, password } = server.connection
	const urlOf = (database: string) => `postgres://${user}:${password}@${host}:${port}/${database}`
	const admin = new pg.Pool(server.connection)
	for (const name of ['shop', 'ledger']) await admin.query(`create database ${name}`)
	await admin.end()
	const shop = new pg.Pool({ connectionString: urlOf('shop') })
	const ledger = new pg.Pool({ connectionString: urlOf('ledger') })
	const outbox = new Outbox({ store: postgresOutboxStore({ client: shop }) })
	const inbox = new Inbox({ store: postgresInboxStore({ client: ledger }) })
	await outbox.migrate()
	await inbox.migrate()
	await shop.query('create table orders (id int primary key, total int not null)')
	await ledger.query(
		'create table effects (order_id int not null); create table deliveries (message_id text not null)',
	)

	const [senderPort, receiverPort] = [await stablePort(), await stablePort()]
	const inputs: readonly (readonly [file: string, input: ProcessInput])[] = [
		[sender, { url: urlOf('shop'), port: senderPort, receiverPort }],
		['relay', { url: urlOf('shop'), port: 0, receiverPort }],
		['receiver', { url: urlOf('ledger'), port: receiverPort, receiverPort }],
	]
	const processes = await Promise.all(inputs.map(([file, input]) => MortalProcess.start(file, input)))
	try {
		const ids = Array.from({ length: count }, (_, index) => index)
		const waiting = [...ids]
		const placeAll = async () => {
			for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) await placeOrder(senderPort, id)
		}
		let isPlaced = false
		const placing = Promise.all(Array.from({ length: ORDERS_IN_FLIGHT }, placeAll)).then(() => {
			isPlaced = true
		})
		while (!isPlaced || processes.some(({ kills }) => kills < minKills)) {
			await pause(Math.random() * MAX_PAUSE_MS)
			const leastKilled = Math.min(...processes.map(({ kills }) => kills))
			const candidates = isPlaced ? processes.filter(({ kills }) => kills === leastKilled) : processes
			await candidates[Math.floor(Math.random() * candidates.length)]?.killAndRestart()
		}
		await placing
		const isDrained = async (): Promise<boolean> => {
			const { due, scheduled, inFlight } = (await outbox.stats()).totals
			return due.count + scheduled.count + inFlight.count === 0
		}
		while (!(await isDrained())) await pause(50)
		const { rows } = await ledger.query(
			'select order_id as id, count(*)::int as count from effects group by 1',
		)
		const effects = new Map(rows.map(({ id, count: times }) => [id, times]))
		const delivered = await ledger.query('select count(*)::int as count from deliveries')
		return {
			orders: count,
			kills: Object.fromEntries(processes.map(({ file, kills }) => [file, kills])),
			deliveries: delivered.rows[0].count,
			missing: ids.filter((id) => !effects.has(id)),
			repeated: ids.filter((id) => (effects.get(id) ?? 0) > 1),
			deadLetters: (await outbox.dead.count()).count,
		}
	} finally {
		await Promise.all(processes.map((one) => one.stop()))
		await outbox.close()
		await inbox.close()
		await shop.end()
		await ledger.end()
	}
}

/** Sends an order until the shop has confirmed it. */
async function placeOrder(port: number, id: number): Promise<void> {
	for (;;) {
		const response = await fetch(`http://127.0.0.1:${port}/orders/${id}`, { method: 'PUT' }).catch(
			() => undefined,
		)
		await response?.arrayBuffer().catch(() => undefined)
		if (response?.ok) return
		await pause(50)
	}
}

class MortalProcess {
	readonly file: string
	readonly #input: ProcessInput
	#child: ChildProcess
	kills = 0

	private constructor(file: string, input: ProcessInput, child: ChildProcess) {
		this.file = file
		this.#input = input
		this.#child = child
	}

	static async start(file: string, input: ProcessInput): Promise<MortalProcess> {
		return new MortalProcess(file, input, await startProcess(file, input))
	}

	async killAndRestart(): Promise<void> {
		await end(this.#child, 'SIGKILL')
		this.kills++
		this.#child = await startProcess(this.file, this.#input)
	}

	async stop(): Promise<void> {
		await end(this.#child)
	}
}

async function startProcess(file: string, input: ProcessInput): Promise<ChildProcess> {
	const program = fileURLToPath(new URL(`./${file}.ts`, import.meta.url))
	const execArgv = process.env['YAOKI_ORMS'] === 'lowest' ? ['--import', LOWEST_VERSIONS] : []
	const options: ForkOptions = { execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }
	const child = guard(fork(program, [JSON.stringify(input)], options))
	const exited = once(child, 'exit').then(([code, signal]) => {
		throw new Error(`The process ${file} ended with ${code ?? signal} before it was running.`)
	})
	await Promise.race([once(child, 'message'), exited])
	return child
}
