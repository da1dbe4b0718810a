/**
 * The dashboard's page in Chromium: the bytes of its first load, and the time until its sentence says what is wrong, with the
 * real data of a program with an open circuit and an outbox. Every load has a new browser profile, so nothing is cached.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { circuitBreaker, pipeline, retry } from 'yaoki'
import { dashboard } from 'yaoki/dashboard'
import { Outbox, sqliteOutboxStore } from 'yaoki/outbox'
import { guardedFolder } from '../test/guard/guard.ts'
import { launch } from '../test/playground/browser.ts'
import { bytes, column, type Report } from './figure.ts'
import { median } from './harness.ts'

const LOADS = 10
const MAX_BYTES = 70_000
const MAX_MS = 1_000
const HOUR = 3_600_000

/** Runs in the page before its own scripts: resolves after the frame in which the sentence was painted. */
const WATCH = `window.painted = new Promise((resolve) => {
	const find = () => document.querySelector('.summary:has(.sentence)')
	const observer = new MutationObserver(() => {
		if (!find()) return
		observer.disconnect()
		requestAnimationFrame(() => setTimeout(() => resolve({ ms: performance.now(), text: find().textContent })))
	})
	observer.observe(document, { childList: true, subtree: true })
})`

interface Load {
	readonly ms: number
	/** As they were sent, by file. */
	readonly files: Readonly<Record<string, number>>
}

async function load(browser: Awaited<ReturnType<typeof launch>>, url: string): Promise<Load> {
	const context = await browser.newContext()
	const page = await context.newPage()
	const sizes: Promise<readonly [name: string, bytes: number]>[] = []
	page.on('requestfinished', (request) => {
		const name = new URL(request.url()).pathname.split('/').at(-1) || 'index.html'
		if (!request.url().includes('/api/'))
			sizes.push(request.sizes().then(({ responseBodySize }) => [name, responseBodySize]))
	})
	await page.addInitScript(WATCH)
	await page.goto(url)
	const { ms, text }: { ms: number; text: string } = await page.evaluate('window.painted')
	if (!text.includes('payments: circuit open')) throw new Error(`The page shows: ${text}`)
	// The first view draws charts, whose code is a file of its own.
	await page.waitForSelector('.plot canvas')
	const files = Object.fromEntries(await Promise.all(sizes))
	await context.close()
	return { ms, files }
}

/** A program whose circuit is open, with messages that no relay sends. */
async function measure(): Promise<Load[]> {
	await using folder = await guardedFolder('yaoki-bench-page-')
	const payments = pipeline(
		{ name: 'payments' },
		circuitBreaker({ failureThreshold: 1, resetTimeoutMs: HOUR }),
		retry({ maxRetries: 0 }),
	)
	const outbox = new Outbox({ store: sqliteOutboxStore({ file: join(folder.path, 'shop.db') }) })
	await outbox.migrate()
	const orders = Array.from({ length: 1_000 }, (_, order) => ({
		topic: 'order.created',
		destination: 'receipts',
		payload: { order },
	}))
	await outbox.enqueue(orders, { withoutTransaction: true })
	const page = dashboard({ observe: { payments, outbox } })
	await payments.execute(() => Promise.reject(new Error('connect ECONNREFUSED'))).catch(() => undefined)
	const server = createServer(page.node).listen(0, '127.0.0.1')
	await once(server, 'listening')
	const browser = await launch()
	try {
		const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
		const loads: Load[] = []
		while (loads.length < LOADS) loads.push(await load(browser, url))
		return loads
	} finally {
		await browser.close()
		await page.close()
		server.close()
		await outbox.close()
	}
}

const sum = (files: Load['files']): number => Object.values(files).reduce((total, one) => total + one, 0)
const milliseconds = (ms: number): string => `${Math.round(ms)} ms`

export async function dashboardPage(): Promise<Report> {
	const loads = await measure()
	const largest = loads.reduce((before, one) => (sum(one.files) > sum(before.files) ? one : before)).files
	const times = loads.map(({ ms }) => ms)
	const [middle, slowest] = [median(times), Math.max(...times)]
	return {
		title: `The dashboard's page in Chromium on loopback, ${LOADS} loads with an empty cache`,
		lines: [
			...Object.entries(largest).map(([name, size]) => column(name, bytes(size))),
			column(
				'until the sentence is visible',
				`${milliseconds(middle)} (median)`,
				`${milliseconds(slowest)} (max)`,
			),
		],
		figures: [
			{
				figure: 'first load of the dashboard, gzip',
				asked: `at most ${bytes(MAX_BYTES)}`,
				measured: bytes(sum(largest)),
				reached: sum(largest) <= MAX_BYTES,
			},
			{
				figure: 'first useful paint of the dashboard',
				asked: `every load in at most ${milliseconds(MAX_MS)}`,
				measured: `${milliseconds(middle)} (median), ${milliseconds(slowest)} (max)`,
				reached: slowest <= MAX_MS,
			},
		],
		data: loads,
	}
}
