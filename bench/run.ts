/**
 * `npm run bench`: every figure that the project must reach, measured in one run together with the peers.
 * `npm run bench -- --json` prints the data instead; `npm run bench -- retry` runs the parts whose names start with it.
 */
import { bulkhead } from './bulkhead.ts'
import { coldImport } from './cold-import.ts'
import { creation } from './creation.ts'
import { dashboard } from './dashboard.ts'
import { dashboardPage } from './dashboard-page.ts'
import { dashboardQueue } from './dashboard-queue.ts'
import type { Report } from './figure.ts'
import { grpc } from './grpc.ts'
import { http, httpBurst } from './http.ts'
import { idempotencyMemory, idempotencyPostgres } from './idempotency.ts'
import { idempotencyRace } from './idempotency-race.ts'
import { idleBreakers } from './idle-breakers.ts'
import { memory } from './memory.ts'
import { openCircuit } from './open-circuit.ts'
import { OUTBOX_PARTS, onlyInFull } from './outbox.ts'
import { rateBreaker } from './rate-breaker.ts'
import { recovery } from './recovery.ts'
import { failsTwice, success } from './retry.ts'
import { simulator } from './simulator.ts'
import { stack } from './stack.ts'
import { telemetry } from './telemetry.ts'
import { virtual } from './virtual.ts'
import { webhooks } from './webhooks.ts'
import { timeWindow } from './window.ts'

const PARTS: Record<string, () => Promise<Report>> = {
	'cold-import': coldImport,
	'retry-success': success,
	'retry-failures': failsTwice,
	stack,
	'open-circuit': openCircuit,
	'rate-breaker': rateBreaker,
	window: timeWindow,
	bulkhead,
	creation,
	http,
	'http-burst': httpBurst,
	grpc,
	virtual,
	simulator,
	'idle-breakers': idleBreakers,
	memory,
	'idempotency-memory': idempotencyMemory,
	'idempotency-postgres': idempotencyPostgres,
	'idempotency-race': idempotencyRace,
	telemetry,
	dashboard,
	'dashboard-page': dashboardPage,
	'dashboard-queue': () => onlyInFull(dashboardQueue),
	webhooks,
	...OUTBOX_PARTS,
	recovery: () => onlyInFull(recovery),
}

const asJson = process.argv.includes('--json')
const wanted = process.argv.slice(2).filter((argument) => argument !== '--json')
const chosen = Object.entries(PARTS).filter(
	([name]) => !wanted.length || wanted.some((start) => name.startsWith(start)),
)
if (!chosen.length) {
	console.error(
		`npm run bench -- [--json] [part ...]\nThere is no part ${wanted.join(', ')}; the parts are ${Object.keys(PARTS).join(', ')}`,
	)
	process.exit(2)
}

const reports: Report[] = []
for (const [name, measure] of chosen) {
	if (!asJson) console.error(`measuring ${name} ...`)
	reports.push(await measure())
}
const figures = reports.flatMap((report) => report.figures)

if (asJson) {
	console.log(JSON.stringify({ node: process.version, reports }, undefined, '\t'))
} else {
	for (const { title, lines } of reports)
		console.log(`\n${title}\n${lines.map((line) => `  ${line}`).join('\n')}`)
	console.log('\nMust reach')
	for (const { figure, asked, measured, reached } of figures) {
		console.log(`  ${reached ? 'reached' : 'MISSED '} ${figure}: ${asked}; measured ${measured}`)
	}
}
// Waiting calls of the memory part would keep the process alive for an hour.
process.exit(0)
