/** The table of the benchmark: what is asked, what was measured, and the time line of each stack. */
import { availableParallelism } from 'node:os'
import type { Ledger } from '../../test/shop/ledger.ts'
import type { ShopPlan } from '../../test/shop/plan.ts'
import { column, type Figure } from '../figure.ts'
import { capacity, INTERVAL_MS, type Measured, OBSERVED_MS } from './measure.ts'
import { type Contender, OURS, PEER, versionOf } from './stacks.ts'

type Results = readonly (readonly [Contender, Measured])[]

/** A recovery may take this long, or 1.5 times as long as the peer stack. */
const FIRST_ORDER_MS = 2_000
const RATIO = 1.5

const isRight = ({ accepted, ...defects }: Ledger): boolean =>
	Object.values(defects).every((defect) => defect === 0)

const seconds = (ms: number): string => (Number.isFinite(ms) ? `${(ms / 1_000).toFixed(1)} s` : 'never')

export function linesOf(plan: ShopPlan, results: Results): string[] {
	const shared = ['pg', 'express', 'fastify'].map(versionOf)
	return [
		`Node ${process.version}, ${shared.join(', ')}, ${availableParallelism()} cores; pg pools of 10 (the default), PostgreSQL with default durability`,
		`bank: ${plan.bank.workers} charges at a time, ${plan.bank.serviceMs} ms each: ${capacity(plan)} a second`,
		`orders: ${plan.perSecond} a second, ${plan.customers} customers at a time; a customer whose order fails tries again after ${plan.againMs} ms, plus or minus half of it`,
		`every service responds with 503 to every failure; a process that ends is started again after ${plan.restartMs} ms`,
		...results.flatMap(([{ name, packages, settings }]) => [
			`${name}: ${[...packages.map(versionOf), ...settings].join('; ')}`,
		]),
		'',
		column('', ...results.map(([{ name }]) => name.slice(0, 14))),
		...rows(results.map(([, measured]) => measured)),
		...results.flatMap(([{ name }, measured]) => ['', ...timeLine(name, measured)]),
	]
}

function rows(measured: readonly Measured[]): string[] {
	const row = (name: string, show: (one: Measured) => string) => column(name, ...measured.map(show))
	const recoveries = measured[0]?.recoveries ?? []
	const defects = Object.keys(measured[0]?.ledger ?? {}) as (keyof Ledger)[]
	return [
		...recoveries.map(({ what }, index) =>
			row(`first order after: ${what}`, (one) => seconds(one.recoveries[index]?.firstOrderMs ?? Number.NaN)),
		),
		row('all orders', (one) => seconds(one.totalMs)),
		row('last event after the last order', (one) => seconds(Math.max(0, one.outboxEmptyMs))),
		row(`bank: requests in ${seconds(OBSERVED_MS)} after its outage`, (one) => String(one.bankRequests)),
		row('bank: requests in total', (one) => String(one.bankRequestsInTotal)),
		row('bank: longest queue', (one) => String(one.longestBankQueue)),
		...defects.map((name) => row(LEDGER[name], (one) => String(one.ledger[name]))),
		row('processes that crashed', (one) => one.crashes.join(', ') || 'none'),
	]
}

const LEDGER: Readonly<Record<keyof Ledger, string>> = {
	accepted: 'orders accepted',
	notAccepted: 'orders never accepted',
	chargedTwice: 'orders charged more than once',
	notCharged: 'orders accepted, but not charged',
	lost: 'orders accepted, but not stored',
	eventsLost: 'orders stored, but without an event',
	chargedInVain: 'orders charged, but not accepted',
}

/** Notes of the services are shown from the end of an outage to the first order after it. */
const SHOWN_NOTES = 12

function timeLine(name: string, { recoveries, accepted, notes }: Measured): string[] {
	return [
		`${name}: accepted orders per ${seconds(INTERVAL_MS)}: ${accepted.join(' ')}`,
		...recoveries.flatMap(({ what, fromMs, untilMs, firstOrderMs }) => {
			const during = notes.filter((note) => {
				const at = Number.parseFloat(note) * 1_000
				return at >= untilMs && at <= untilMs + firstOrderMs
			})
			return [
				`  ${seconds(fromMs)} ${what}, ${seconds(untilMs)} back, ${seconds(untilMs + firstOrderMs)} first order`,
				...during.slice(0, SHOWN_NOTES).map((note) => `    ${note}`),
				...(during.length > SHOWN_NOTES ? [`    ... ${during.length - SHOWN_NOTES} more`] : []),
			]
		}),
	]
}

export function figuresOf(plan: ShopPlan, results: ReadonlyMap<Contender, Measured>): Figure[] {
	const ours = results.get(OURS)
	const peer = results.get(PEER)
	if (!ours || !peer) throw new Error('the figures compare Yaoki with the peer stack')
	const after = (what: string): Figure => {
		const of = ({ recoveries }: Measured) =>
			recoveries.find((recovery) => recovery.what === what)?.firstOrderMs ?? Number.POSITIVE_INFINITY
		const allowed = Math.max(FIRST_ORDER_MS, Number.isFinite(of(peer)) ? RATIO * of(peer) : 0)
		return {
			figure: `recovery, first order after the outage: ${what}`,
			asked: `at most ${seconds(allowed)}`,
			measured: seconds(of(ours)),
			reached: of(ours) <= allowed,
		}
	}
	const allowedRequests = (RATIO * capacity(plan) * OBSERVED_MS) / 1_000
	return [
		after('postgres'),
		after('bank'),
		{
			figure: 'recovery, all orders',
			asked: `at most ${seconds(peer.totalMs)}, as the peer stack`,
			measured: seconds(ours.totalMs),
			reached: ours.totalMs <= peer.totalMs,
		},
		{
			figure: `recovery, requests to the bank in ${seconds(OBSERVED_MS)} after its outage`,
			asked: `at most ${Math.floor(allowedRequests)}, 1.5 times its capacity`,
			measured: String(ours.bankRequests),
			reached: ours.bankRequests <= allowedRequests,
		},
		{
			figure: 'recovery, ledger and events',
			asked: 'each order charged once, stored and confirmed; no process crashed',
			measured: isRight(ours.ledger)
				? `${ours.ledger.accepted} orders, ${ours.events} events, the last ${seconds(Math.max(0, ours.outboxEmptyMs))} after the last order`
				: JSON.stringify(ours.ledger),
			reached: isRight(ours.ledger) && ours.crashes.length === 0,
		},
	]
}
