/**
 * What an operator waits for on the page of a queue with a million messages: lists, searches by indexed fields, figures, groups of dead letters and
 * the plan of a bulk action, each through the fetch handler. Once with messages in every state, and once after an outage that left only dead letters.
 */
import pg from 'pg'
import { type Dashboard, dashboard } from 'yaoki/dashboard'
import { Outbox, postgresOutboxStore } from 'yaoki/outbox'
import { column, type Figure, type Report } from './figure.ts'
import { openServer } from './outbox/postgres.ts'
import { scaled } from './outbox/servers.ts'

const MESSAGES = 1_000_000
const REQUESTS = 20
const ASKED_MS = 300

const ORIGIN = 'http://shop.test'
const API = `${ORIGIN}/_yaoki/api`

const MESSAGE = 'id, seq, created_at, destination, topic, key, payload'
const FAILED = 'attempts, last_attempt_at, error_type, error_message, error_fingerprint'
const FAILED_VALUES = `3, created_at + 900, 'HttpError', 'HTTP 503 of shard ' || shard, substr(md5('shard ' || shard), 1, 12)`

/** The columns of a state beside those of every message, and their values. */
const STATES = {
	sent: ['outbox_history', 'ended_at', 'created_at + 300'],
	dead: [
		'outbox_dead',
		`${FAILED}, died_at, cause, blocks`,
		`${FAILED_VALUES}, created_at + 1000, case when seq % 3 = 0 then 'permanent' else 'retries-exhausted' end, seq % 400 = 0`,
	],
	claimed: [
		'outbox',
		'due_at, attempts, lease_until, locked_at, locked_by',
		"created_at, 1, now + 3600000, now, 'relay-1'",
	],
	retried: [
		'outbox',
		`due_at, first_due_after_ms, ${FAILED}`,
		`now + 60000 + seq * 7919 % 3600000, 0, ${FAILED_VALUES}`,
	],
	due: ['outbox', 'due_at', 'created_at'],
	scheduled: ['outbox', 'due_at', 'now + 60000 + seq * 7919 % 7200000'],
} as const

type Shares = Partial<Readonly<Record<keyof typeof STATES, number>>>

const QUEUES: Readonly<Record<string, Shares>> = {
	'every state': { sent: 0.2, dead: 0.248, claimed: 0.002, retried: 0.05, due: 0.35, scheduled: 0.15 },
	'dead letters': { dead: 0.99, due: 0.01 },
}

/** 20 destinations, 300 causes of failures, 25,000 keys. Ids are UUIDs of version 7. */
const insertSql = (state: keyof typeof STATES): string => {
	const [table, columns, values] = STATES[state]
	return `
		insert into yaoki.${table} (${MESSAGE}, ${columns}) select ${MESSAGE}, ${values} from (
			select (lpad(to_hex(created_at), 12, '0') || '7000' || '8' || substr(md5(seq::text), 1, 15))::uuid as id, m.* from (
				select seq, now, now - 86400000 + seq * 80 as created_at, 'service-' || seq % 20 as destination,
					'order.' || seq % 7 as topic, case when seq % 2 = 0 then 'customer-' || seq % 50000 end as key,
					'{"order":' || seq || ',"lines":"' || repeat('x', 150) || '"}' as payload, seq * 7919 % 300 as shard
				from generate_series($1::bigint, $2::bigint) seq, (select (extract(epoch from now()) * 1000)::bigint as now) t
			) m
		) m`
}

async function fill(pool: pg.Pool, shares: Shares): Promise<void> {
	let last = 0
	for (const [state, share] of Object.entries(shares)) {
		const first = last + 1
		last += Math.round(scaled(MESSAGES) * share)
		await pool.query(insertSql(state as keyof typeof STATES), [first, last])
	}
	// As autovacuum does within a minute.
	await pool.query('vacuum analyze')
}

/** What the page asks for. A path is a read, an object the plan of a bulk action. */
type Question = string | Readonly<Record<string, unknown>>

const plan = (action: string, selection: object): Question => ({
	action,
	source: 'orders',
	selection,
	reason: 'bench',
})

interface Known {
	readonly id: string
	readonly deadId: string
	readonly fingerprint: string
	readonly after: string
	readonly from: number
}

const questionsOf = ({
	id,
	deadId,
	fingerprint,
	after,
	from,
}: Known): Readonly<Record<string, Question>> => ({
	list: 'messages',
	'list, from the middle': `messages?after=current:${after}`,
	'list, pending': 'messages?status=pending',
	'list, in flight': 'messages?status=in-flight',
	'list, dead': 'messages?status=dead',
	'list, sent': 'messages?status=sent',
	'list, 200 rows': 'messages?limit=200',
	'search by id': `messages?id=${id}`,
	'search by destination': 'messages?destination=service-7',
	'search by destination, dead': 'messages?destination=service-7&status=dead',
	'search by key': 'messages?key=customer-4242',
	'search by key, dead': 'messages?key=customer-4242&status=dead',
	'search by cause': 'messages?cause=permanent',
	'search by cause without a match': 'messages?cause=crashed',
	'search by destination and cause': 'messages?destination=service-7&cause=crashed',
	'search by time': `messages?from=${from}`,
	'search by time, dead': `messages?from=${from}&status=dead`,
	'a dead letter': `message?id=${deadId}`,
	'groups of dead letters': 'dead',
	'groups of a destination': 'dead?destination=service-7',
	audit: 'audit',
	'plan: replay all': plan('replay', { all: true }),
	'plan: replay a destination': plan('replay', { destination: 'service-7' }),
	'plan: replay a group': plan('replay', { fingerprint, destination: 'service-7', cause: 'permanent' }),
	'plan: replay since a time': plan('replay', { from }),
	'plan: discard a cause': plan('discard', { cause: 'retries-exhausted' }),
	'plan: retry all': plan('retry', { all: true }),
	'plan: expire a destination': plan('expire', { destination: 'service-7' }),
})

/** Asks as the page does, with its token. */
async function ask(page: Dashboard, question: Question, token: string): Promise<void> {
	const isRead = typeof question === 'string'
	const headers = {
		origin: ORIGIN,
		'content-type': 'application/json',
		'x-yaoki-token': token,
		cookie: `yaoki_token=${token}`,
	}
	const response = await page(
		isRead
			? new Request(`${API}/${question}`, { headers })
			: new Request(`${API}/plan`, { method: 'POST', headers, body: JSON.stringify(question) }),
	)
	const text = await response.text()
	if (!response.ok || text.includes('"unreadable"')) throw new Error(`${JSON.stringify(question)}: ${text}`)
}

interface Durations {
	readonly p50: number
	readonly max: number
}

async function durationsOf(request: () => Promise<void>): Promise<Durations> {
	const durations: number[] = []
	// The first connection and the first plan of a statement are not what an operator waits for every second.
	await request()
	for (let at = 0; at < REQUESTS; at++) {
		const start = performance.now()
		await request()
		durations.push(performance.now() - start)
	}
	durations.sort((a, b) => a - b)
	return { p50: durations[Math.floor(REQUESTS / 2)] ?? 0, max: durations.at(-1) ?? 0 }
}

async function measure(url: string, shares: Shares): Promise<Readonly<Record<string, Durations>>> {
	const pool = new pg.Pool({ connectionString: url })
	const outbox = new Outbox({ store: postgresOutboxStore({ client: pool }), historyForMs: 86_400_000 })
	try {
		await outbox.migrate()
		await fill(pool, shares)
		const open = () => dashboard({ observe: { orders: outbox }, authorize: () => 'all' })
		const page = open()
		const [dead] = await outbox.dead.list({ destination: 'service-7', cause: 'permanent' }, { limit: 1 })
		const [middle] = (
			await pool.query(
				'select id, created_at from yaoki.outbox order by seq offset (select count(*) / 2 from yaoki.outbox) limit 1',
			)
		).rows
		const questions = questionsOf({
			id: middle.id,
			after: middle.id,
			deadId: dead?.id ?? '',
			fingerprint: dead?.lastError?.fingerprint ?? '',
			from: Number(middle.created_at),
		})
		const durations: Record<string, Durations> = {}
		const token = 'ab'.repeat(32)
		for (const [name, question] of Object.entries(questions))
			durations[name] = await durationsOf(() => ask(page, question, token))
		// A page reads the figures at most once a second, for all viewers: each request is the first one of a page.
		durations['figures (overview)'] = await durationsOf(async () => {
			const first = open()
			await ask(first, 'overview', token)
			await first.close()
		})
		await page.close()
		return durations
	} finally {
		await outbox.close()
		await pool.end()
	}
}

const ms = (duration: number): string => `${duration.toFixed(1)} ms`

export async function dashboardQueue(): Promise<Report> {
	const server = await openServer()
	try {
		const lines: string[] = []
		const figures: Figure[] = []
		const data: Record<string, unknown> = {}
		for (const [name, shares] of Object.entries(QUEUES)) {
			const durations = await measure(await server.database(name), shares)
			data[name] = durations
			lines.push('', column(`a million messages: ${name}`, 'p50', 'max'))
			for (const [what, { p50, max }] of Object.entries(durations)) lines.push(column(what, ms(p50), ms(max)))
			const [slowest, { p50 }] = Object.entries(durations).reduce((a, b) => (b[1].p50 > a[1].p50 ? b : a))
			figures.push({
				figure: `dashboard of a million messages (${name}): the slowest request, ${slowest}`,
				asked: `at most ${ASKED_MS} ms (p50)`,
				measured: ms(p50),
				reached: p50 <= ASKED_MS,
			})
		}
		return {
			title: `The dashboard of a queue: duration of ${REQUESTS} requests each (${server.about})`,
			lines,
			figures,
			data,
		}
	} finally {
		await server[Symbol.asyncDispose]()
	}
}
