/**
 * `npm run blocks`: builds, packs and installs the package, copies every `ts` block of the documentation into a folder of its own in that project
 * as a reader would, and runs it. A block fails if it throws, does not end, prints other text than the page, or contains a function that was never
 * called: handlers have to run too. Arguments choose pages: `-- retry` runs the blocks of pages whose path contains "retry".
 */
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Block, blocks, pages, RECIPE_PAGES } from '../test/examples/markdown.ts'
import { startPostgres } from '../test/real-postgres.ts'
import { copyBlock, runCopy } from './blocks/copy.ts'
import { pack } from './pack.ts'
import { ROOT, run } from './tools.ts'

/** Blocks that run at the same time. Most of them wait. */
const AT_A_TIME = 3

const chosen = process.argv.slice(2)
const copied = pages()
	.filter(({ path }) => !RECIPE_PAGES.includes(path))
	.filter(({ path }) => chosen.length === 0 || chosen.some((text) => path.includes(text)))
	.flatMap(blocks)
	.filter(({ language, file }) => language === 'ts' && file === undefined)

const built = run(process.execPath, ['scripts/build.ts'])
if (!built.ok) throw new Error(`The build failed:\n${built.output}`)
const packed = pack()
linkPackages(packed.home)
const postgres = await startPostgres()
const { host, port, user, password, database } = postgres.connection
const env = {
	...{ PGHOST: host, PGPORT: String(port), PGUSER: user, PGPASSWORD: password, PGDATABASE: database },
}
let failed = 0
try {
	// Blocks with a server use the same port.
	const [alone, together] = partition(copied, ({ code }) => /\blisten\(|from 'pg'/.test(code))
	await Promise.all([inTurn(alone), ...Array.from({ length: AT_A_TIME - 1 }, () => inTurn(together))])
} finally {
	await postgres[Symbol.asyncDispose]()
	packed.remove()
}
console.log(`${copied.length - failed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

async function inTurn(queue: Block[]): Promise<void> {
	for (let block = queue.shift(); block; block = queue.shift()) {
		const faults = await runCopy(copyBlock(packed.home, block), block, env)
		if (faults.length === 0) continue
		failed++
		console.log([block.place, ...faults].join('\n  '))
	}
}

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
	return [all.filter(isFirst), all.filter((one) => !isFirst(one))]
}

/** The packages that blocks import beside yaoki, with the versions of this repository. */
function linkPackages(home: string): void {
	const imported = copied.flatMap(({ code }) => [...code.matchAll(/from '((?:@[\w-]+\/)?[\w-]+)/g)])
	for (const name of new Set(['@types/node', ...imported.map(([, found = '']) => found)])) {
		if (name === 'yaoki' || name === 'node') continue
		const link = join(home, 'node_modules', name)
		mkdirSync(dirname(link), { recursive: true })
		symlinkSync(join(ROOT, 'node_modules', name), link)
	}
}
