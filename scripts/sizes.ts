/**
 * `npm run sizes`: what each folder of the sources costs in the bundles of .size-limit.json, minified and gzipped. The bytes of a folder are those
 * that its code has in the minified bundle, by the source map; its cost is what the compressed bundle would lose without them. The costs add
 * up to less than the bundle, because folders that resemble each other compress better together. `-- resilientFetch` shows one bundle.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { ROOT } from './tools.ts'

interface Measured {
	readonly name: string
	readonly path: string
	readonly import: string
}

const gzipped = (text: string): number => gzipSync(text, { level: 9 }).length

/** Bundles from the sources, because the map of the built files leads to the built files. */
async function bundle({ path, import: names }: Measured): Promise<{ code: string; folders: string[] }> {
	const source = join(ROOT, path.replace(/^dist\/(.*)\.js$/, 'src/$1/index.ts'))
	const entry = join(ROOT, 'measured.js')
	const build = await rolldown({
		input: entry,
		external: /^node:/,
		plugins: {
			name: 'entry',
			resolveId: (id) => (id === entry ? entry : undefined),
			load: (id) => (id === entry ? `export ${names} from ${JSON.stringify(source)}` : undefined),
		},
	})
	const { output } = await build.generate({ minify: true, sourcemap: true, comments: { annotation: false } })
	await build.close()
	const [{ code, map }] = output
	if (!map) throw new Error('The bundle has no source map.')
	const sources = map.sources.map(
		(file) => /src\/((?:[\w-]+\/)+)/.exec(file)?.[1]?.slice(0, -1) ?? '(bundler)',
	)
	return { code, folders: folderOfEach(code, map.mappings, sources) }
}

/** Returns the folder of each character of the code. */
function folderOfEach(code: string, mappings: string, folders: readonly string[]): string[] {
	const found: string[] = []
	let source = 0
	const lines = code.split('\n')
	for (const [index, line] of mappings.split(';').entries()) {
		const length = (lines[index]?.length ?? 0) + 1
		let [column, folder, from] = [0, '(bundler)', 0]
		const fill = (until: number) => {
			for (let at = from; at < until; at++) found.push(folder)
			from = until
		}
		for (const segment of line.split(',')) {
			const [columns = 0, sources] = decode(segment)
			column += columns
			fill(column)
			source += sources ?? 0
			folder = sources === undefined ? '(bundler)' : (folders[source] ?? '(bundler)')
		}
		fill(length)
	}
	return found
}

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Decodes a segment of a source map: base 64, 5 bits a digit, the sign last. */
function decode(segment: string): number[] {
	const values: number[] = []
	let [value, shift] = [0, 0]
	for (const digit of segment) {
		const bits = DIGITS.indexOf(digit)
		value += (bits & 31) << shift
		shift += 5
		if (bits & 32) continue
		values.push(value & 1 ? -(value >> 1) : value >> 1)
		value = 0
		shift = 0
	}
	return values
}

const all: Measured[] = JSON.parse(readFileSync(join(ROOT, '.size-limit.json'), 'utf8'))
const wanted = process.argv.slice(2).join(' ')
for (const measured of all.filter(({ name }) => name.includes(wanted))) {
	const { code, folders } = await bundle(measured)
	const total = gzipped(code)
	const rows = [...new Set(folders)].map((folder) => {
		const without = [...code].filter((_, at) => folders[at] !== folder).join('')
		return { folder, minified: code.length - without.length, cost: total - gzipped(without) }
	})
	console.log(`\n${measured.name}: ${code.length} bytes minified, ${total} gzipped`)
	for (const { folder, minified, cost } of rows.sort((a, b) => b.cost - a.cost))
		console.log(`  ${folder.padEnd(28)} ${String(minified).padStart(7)} ${String(cost).padStart(7)}`)
}
