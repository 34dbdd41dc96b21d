"""A Django REST framework service of one resource, run in the peer's own environment (`drf`).

``python drf_service.py`` makes its tables and its token; ``gunicorn drf_service:application`` serves it.
"""

# ruff: noqa: E402 - models can be read only after the settings stand

import os
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import django
from django.conf import settings

_URL = urlsplit(os.environ["DRF_DATABASE"])
_QUERY = parse_qs(_URL.query)

settings.configure(
    SECRET_KEY="a benchmark signs nothing",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "rest_framework",
        "rest_framework.authtoken",
    ],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": "drf",
            "USER": _URL.username,
            "PASSWORD": unquote(_URL.password or ""),
            "HOST": _QUERY["host"][0],
            "PORT": _QUERY["port"][0],
            "CONN_MAX_AGE": None,
        }
    },
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.TokenAuthentication"],
        "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    },
)
django.setup()

from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.db import connection, models, transaction
from django.urls import path
from rest_framework import serializers
from rest_framework.authtoken.models import Token
from rest_framework.response import Response
from rest_framework.views import APIView


class Resource(models.Model):  # type: ignore[misc]
    """What an agent reports of a resource."""

    id = models.UUIDField(primary_key=True)
    site = models.CharField(max_length=32)
    state = models.CharField(max_length=16)
    paused = models.BooleanField()
    configured = models.JSONField()
    applied = models.JSONField()
    used = models.JSONField(null=True)
    observed_at = models.DateTimeField()

    class Meta:
        """It belongs to no installed application."""

        app_label = "bench"


class ResourceSerializer(serializers.ModelSerializer):  # type: ignore[misc]
    """Checks a body."""

    class Meta:
        """All but the id, which is in the path."""

        model = Resource
        exclude = ("id",)


class ResourceView(APIView):  # type: ignore[misc]
    """PUT replaces a resource under its row's lock."""

    def put(self, request: Any, resource: Any) -> Response:
        """200 with what is saved, 201 the first time."""
        with transaction.atomic():
            saved = Resource.objects.select_for_update().filter(id=resource).first()
            body = ResourceSerializer(saved, data=request.data)
            body.is_valid(raise_exception=True)
            body.save(id=resource)
        return Response(body.data, status=200 if saved else 201)


urlpatterns = [path("resources/<uuid:resource>/", ResourceView.as_view())]
application = get_wsgi_application()

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    with connection.schema_editor() as editor:
        editor.create_model(Resource)
    Token.objects.create(key=os.environ["DRF_TOKEN"], user=User.objects.create(username="agent"))
