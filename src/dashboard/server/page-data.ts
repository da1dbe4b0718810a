/**
 * The files of the page, as the sources have them. The build replaces this module with one that contains the files, which is loaded with the
 * first request.
 */
import { builtinModule } from '../../sql/node-modules.ts'

interface FileSystem {
	existsSync(path: URL): boolean
	readFileSync(path: URL, encoding: 'utf8'): string
}

export interface PageFile {
	readonly type: string
	/** Base64 of the compressed file, or its text. */
	readonly gzip?: string
	readonly text?: string
}

/** What `npm run build` writes for this module and for the package. */
const BUILT = '../../../dist/dashboard-page.json'

const NOT_BUILT: Readonly<Record<string, PageFile>> = {
	'index.html': {
		type: 'text/html; charset=utf-8',
		text: '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="yaoki-token" content=""><title>Yaoki</title><link rel="stylesheet" href="_yaoki/app.css"><script type="module" src="_yaoki/app.js"></script><p>The page is not built. Run <code>npm run build</code>.',
	},
	'app.js': { type: 'text/javascript; charset=utf-8', text: '' },
	'app.css': { type: 'text/css; charset=utf-8', text: '' },
}

export const PAGE: Readonly<Record<string, PageFile>> = readPage()

function readPage(): Readonly<Record<string, PageFile>> {
	const fs = builtinModule<FileSystem>('node:fs')
	const file = new URL(BUILT, import.meta.url)
	return fs?.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : NOT_BUILT
}
