/**
 * `node scripts/dashboard-page.ts`: builds the page in dashboard-page/ into dist/dashboard-page.json, which maps the name of
 * each asset to its type and its compressed bytes. The dashboard serves them from one file, without reading a folder.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { ROOT } from './tools.ts'

/** The page, its script and its style must arrive quickly. Chunks that are loaded later are not counted. */
const MAX_FIRST_LOAD = 70_000
const FIRST_LOAD = ['index.html', 'app.js', 'app.css']

const TYPES: Readonly<Record<string, string>> = {
	'.html': 'text/html; charset=utf-8',
	'.js': 'text/javascript; charset=utf-8',
	'.css': 'text/css; charset=utf-8',
	'.svg': 'image/svg+xml',
}

export interface Asset {
	readonly type: string
	/** Base64 of the bytes after gzip. */
	readonly gzip: string
}

export type Assets = Readonly<Record<string, Asset>>

/** Builds the page. Returns its assets by name, and the bytes of the first load after gzip. */
export async function buildDashboardPage(): Promise<{ assets: Assets; firstLoad: number }> {
	const texts = await bundle()
	checkStrict(texts)
	const packed = new Map([...texts].map(([name, text]) => [name, gzipSync(text, { level: 9 })]))
	const firstLoad = FIRST_LOAD.reduce((sum, name) => {
		const bytes = packed.get(name)
		if (!bytes) throw new Error(`The page has no ${name}.`)
		return sum + bytes.length
	}, 0)
	if (firstLoad > MAX_FIRST_LOAD)
		throw new Error(
			`The first load of the dashboard has ${firstLoad} bytes; at most ${MAX_FIRST_LOAD} are allowed.`,
		)
	const assets = Object.fromEntries(
		[...packed].map(([name, bytes]) => [name, { type: typeOf(name), gzip: bytes.toString('base64') }]),
	)
	return { assets, firstLoad }
}

/** Builds the page into a file. */
export async function writeDashboardPage(folder: string): Promise<number> {
	const { assets, firstLoad } = await buildDashboardPage()
	mkdirSync(folder, { recursive: true })
	writeFileSync(join(folder, 'dashboard-page.json'), `${JSON.stringify(assets)}\n`)
	return firstLoad
}

function typeOf(name: string): string {
	const type = TYPES[extname(name)]
	if (type === undefined) throw new Error(`The page has a file of an unknown type: ${name}`)
	return type
}

async function bundle(): Promise<Map<string, string>> {
	const built = await build({
		root: join(ROOT, 'dashboard-page'),
		configFile: false,
		logLevel: 'warn',
		base: './',
		// A data URL would need an exception in the content security policy.
		build: {
			write: false,
			target: 'es2023',
			modulePreload: false,
			cssMinify: true,
			cssCodeSplit: false,
			assetsInlineLimit: 0,
			rolldownOptions: {
				output: {
					entryFileNames: 'app.js',
					chunkFileNames: '[name].js',
					assetFileNames: 'app[extname]',
				},
			},
		},
	})
	if (!('output' in built)) throw new Error('Vite did not return a single bundle.')
	const texts = new Map<string, string>()
	for (const part of built.output) {
		const text = part.type === 'chunk' ? part.code : String(part.source)
		if (texts.has(part.fileName)) throw new Error(`The page has two files ${part.fileName}.`)
		texts.set(part.fileName, part.fileName === 'index.html' ? withSegment(text) : text)
	}
	return texts
}

/** The page is served one level above its assets. */
const withSegment = (html: string): string =>
	html
		.replaceAll(/\n\s*/g, '\n')
		.replaceAll(/(src|href)="\.\//g, '$1="_yaoki/')
		.replaceAll(' crossorigin', '')

/** The content security policy allows no inline script, no inline style and no other origin. */
function checkStrict(texts: ReadonlyMap<string, string>): void {
	const html = texts.get('index.html') ?? ''
	const found = /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|(src|href)="https?:/i.exec(html)
	if (found) throw new Error(`The page is not allowed by its content security policy: ${found[0]}`)
	if (!html.includes('<meta name="yaoki-token" content="" />'))
		throw new Error('The page has no place for its token.')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
	const firstLoad = await writeDashboardPage(join(ROOT, 'dist'))
	console.log(`dist/dashboard-page.json: first load ${(firstLoad / 1_000).toFixed(1)} kB gzip`)
}
