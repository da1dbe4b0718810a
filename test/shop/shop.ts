/**
 * A shop of six processes and a real PostgreSQL, which a stack of libraries implements: storefront -> orders -> payments -> bank, and a relay that
 * delivers order events to the mail service. The benchmark of recovery compares stacks on it; a slow test runs the services that use Yaoki.
 */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { type RealPostgres, startPostgres } from '../support/real-postgres.ts'
import { stablePort } from '../support/stable-port.ts'
import type { BankReport } from './bank.ts'
import type { MailReport } from './mail.ts'
import { type Fault, type Note, now, type Sale, type ServiceName, type ShopPlan } from './plan.ts'
import { Supervisor } from './supervisor.ts'

/** The programs of a stack's services. A stack that sends mails without a queue has no relay. */
export type Stack = Readonly<Partial<Record<ServiceName, URL>>>

/** From the libraries' point of view: the time from the first failure to the moment when the dependency is available again. */
interface Outage {
	readonly fault: Fault
	readonly from: number
	readonly until: number
}

export interface ShopRun {
	readonly plan: ShopPlan
	readonly openedAt: number
	readonly outages: readonly Outage[]
	readonly sales: readonly Sale[]
	/** The ids of the orders in the database. */
	readonly stored: readonly string[]
	readonly bank: BankReport
	readonly mail: MailReport
	readonly notes: readonly Note[]
	readonly crashes: readonly string[]
}

export interface ShopOptions {
	/** Settings of PostgreSQL. */
	readonly postgres?: Readonly<Record<string, string>>
	/** Arguments of Node for every process. */
	readonly execArgv?: readonly string[]
	/** Ends the run and its processes. */
	readonly signal?: AbortSignal
}

/** The time that remaining events have to arrive after the last order. */
const MAIL_LIMIT_MS = 180_000
/** Events are complete when none has arrived for this time, for stacks that lose some. */
const MAIL_QUIET_MS = 15_000
const POLL_MS = 100

const SCHEMA = `
	create table orders (id text primary key, cents int not null, receipt text not null);
	create table payments (id text primary key, cents int not null, receipt text not null);`

export async function runShop(stack: Stack, plan: ShopPlan, options: ShopOptions = {}): Promise<ShopRun> {
	const { signal = new AbortController().signal } = options
	await using postgres = await startPostgres(options.postgres)
	await using supervisor = new Supervisor(plan.restartMs, options.execArgv)
	signal.throwIfAborted()
	const shop = await openShop(stack, plan, postgres, supervisor)
	const openedAt = await supervisor.call<number>('storefront', 'open')
	const ended = new AbortController()
	const faults = Promise.all(
		plan.faults.map((fault) => outage(fault, supervisor, postgres, AbortSignal.any([signal, ended.signal]))),
	)
	try {
		const over = until(() => supervisor.call('storefront', 'isOver'), signal)
		await Promise.race([over, faults.then(() => over)])
		const outages = await faults
		const sales = await supervisor.call<Sale[]>('storefront', 'sales')
		await mailsArrived(supervisor, sales.length, signal)
		return {
			plan,
			openedAt,
			outages,
			sales,
			stored: await shop.stored(),
			bank: await supervisor.call('bank', 'report'),
			mail: await supervisor.call('mail', 'report'),
			notes: supervisor.notes,
			crashes: supervisor.crashes,
		}
	} finally {
		ended.abort()
		await faults.catch(() => {})
	}
}

async function openShop(stack: Stack, plan: ShopPlan, postgres: RealPostgres, supervisor: Supervisor) {
	const { user, password, host, port, database } = postgres.connection
	const url = `postgres://${user}:${password}@${host}:${port}/${database}`
	await query(url, SCHEMA)
	const programs: Readonly<Record<string, URL | undefined>> = {
		bank: new URL('./bank.ts', import.meta.url),
		mail: new URL('./mail.ts', import.meta.url),
		relay: stack.relay,
		payments: stack.payments,
		orders: stack.orders,
		storefront: stack.storefront,
	}
	const ports: Record<string, number> = {}
	for (const name of Object.keys(programs)) ports[name] = await stablePort()
	const origin = (name: string) => `http://127.0.0.1:${ports[name]}`
	for (const [name, program] of Object.entries(programs)) {
		if (!program) continue
		await supervisor.start(name, program, {
			port: ports[name] ?? 0,
			database: url,
			plan,
			orders: origin('orders'),
			payments: origin('payments'),
			bank: origin('bank'),
			mail: origin('mail'),
		})
	}
	return {
		stored: async () => (await query(url, 'select id from orders')).rows.map(({ id }) => String(id)),
	}
}

async function outage(
	fault: Fault,
	supervisor: Supervisor,
	postgres: RealPostgres,
	signal: AbortSignal,
): Promise<Outage> {
	const accepted = () => supervisor.call<number>('storefront', 'accepted')
	await until(async () => (await accepted()) >= fault.afterOrders, signal)
	const from = now()
	const isOver = () => ({ fault, from, until: now() })
	if (fault.kind === 'postgres') {
		await postgres.restart(fault.forMs)
		return isOver()
	}
	if (fault.kind === 'kill') {
		const isReady = () => supervisor.notes.some((note) => isRestart(note, fault.service, from))
		supervisor.kill(fault.service)
		await until(isReady, signal)
		return isOver()
	}
	// Half of the time connections are refused, half of the time requests are rejected.
	await supervisor.call('bank', 'refuse')
	await pause(fault.forMs / 2, undefined, { signal })
	await supervisor.call('bank', 'reject')
	await pause(Math.max(0, from + fault.forMs - now()), undefined, { signal })
	// On a slow machine the outage is longer, because nothing could be learned from one that no request has met.
	await until(async () => (await supervisor.call<BankReport>('bank', 'report')).failures > 0, signal)
	return { fault, from, until: await supervisor.call<number>('bank', 'serve') }
}

const isRestart = ({ service, text, at }: Note, name: string, since: number): boolean =>
	service === name && text === 'ready' && at > since

async function mailsArrived(supervisor: Supervisor, expected: number, signal: AbortSignal): Promise<void> {
	const giveUpAt = now() + MAIL_LIMIT_MS
	let seen = -1
	let changedAt = now()
	await until(async () => {
		const count = await supervisor.call<number>('mail', 'count')
		if (count !== seen) changedAt = now()
		seen = count
		return count >= expected || now() > giveUpAt || now() > changedAt + MAIL_QUIET_MS
	}, signal)
}

async function until(isSo: () => boolean | Promise<boolean>, signal: AbortSignal): Promise<void> {
	while (!(await isSo())) await pause(POLL_MS, undefined, { signal })
}

async function query(url: string, text: string): Promise<pg.QueryResult> {
	const client = new pg.Client({ connectionString: url })
	await client.connect()
	try {
		return await client.query(text)
	} finally {
		await client.end()
	}
}
