"""The application for any WSGI server: `gunicorn wsgi:app`."""
from registry.app import create_app

app = create_app()
