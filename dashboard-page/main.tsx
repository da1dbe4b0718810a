import { render } from 'preact'
import { App } from './app.tsx'
import { Boundary } from './parts/boundary.tsx'
import { loadPreferences } from './state/preferences.ts'
import { LANGUAGES } from './words/languages.ts'

const place = document.getElementById('app')
if (place)
	render(
		<Boundary t={LANGUAGES[loadPreferences().language]}>
			<App />
		</Boundary>,
		place,
	)
